// Which of some texts are those of statements, or names of topics, of other sources than some. Reads the texts of the corpus once.
// params: corpus, texts, besides
// columns: text
CALL () {
  MATCH (n:Statement)
  WHERE n.corpus = $corpus AND n.id >= '' AND n.text IN $texts AND NOT n.source_id IN $besides
  RETURN n.text AS text
  UNION
  MATCH (n:Topic)
  WHERE n.corpus = $corpus AND n.id >= '' AND n.name IN $texts AND NOT n.source_id IN $besides
  RETURN n.name AS text
}
RETURN DISTINCT text
