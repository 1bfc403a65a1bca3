// Topics are embedded with their statements from now on. Of a corpus that is there already all topics with an id up to
// renewed_to are; without the property all are. The next writer, or "migrate apply", renews the others and moves the mark.

MATCH (c:Corpus) SET c.renewed_to = '';
