"""Closed word lists of the rules for facts: function words with their tags (see ``_tags``), and forms of verbs."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TAGS = {
    "b": "is are was were am became become becomes remains remained",
    "e": "be been being",
    "x": "has have had having",
    "y": "do does did will would can could may might shall should must",
    "d": "a an the this that these those another each every some any all both several many most other such no",
    "k": "his her its their",
    "o": "of",
    "t": "to",
    "i": """in on at from by for with as into near under against between within about after before during since
until through throughout over across along among amongst around behind beside beyond above below toward towards upon
via outside inside onto alongside despite like versus per off out up down opposite""",
    "N": "not never nor without neither hardly cannot barely",
    "c": "and",
    "r": "or",
    "w": "who which that",
    "u": """but because although though while whereas if unless so than whether however whom whose where when what
why how yet""",
    "h": "he she it they",
    "m": """him them me us you i we himself herself itself themselves there here someone somebody anyone everyone
everybody nobody else others""",
    "a": """also later then originally currently officially now formerly briefly soon back away apart forward home
abroad twice overseas often usually again already still even just only too very always sometimes initially
eventually recently previously together once ever almost about approximately nearly well therefore subsequently
mostly mainly largely partly primarily today""",
    "#": """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
hundred thousand million billion half dozen""",
    "n": """ing united red need speed seed breed hundred indeed bed shed feed weed creed greed deed sacred naked
bring king ring wing string spring thing nothing something anything everything during evening morning ceiling
building wedding painting meeting family early only daily weekly monthly yearly supply reply ally lily assembly july
italy friendly likely elderly holy fly ply sly rely july ugly jelly belly bully rally lovely lonely""",
}
WORD_TAGS = {word: tag for tag, words in reversed(_TAGS.items()) for word in words.split()}

# Past forms and participles that do not end in -ed.
IRREGULAR = _words(
    """arose arisen awoke beat beaten began begun bent bet bid bound bit bitten blew blown bore born borne
bought broke broken broadcast brought built burnt burst came come done cast caught chose chosen clung cost crept cut
dealt drank drove driven drew drawn dreamt drunk dug dwelt ate eaten fallen fed fell felt fled flew flown forbade
forbidden forecast forgot forgotten fought found froze frozen gave given gone got gotten grew grown ground heard
held hid hidden hit hung hurt kept knelt knew known laid lain lay led left lent let lit lost made meant met mown
outran overcame overtaken overthrew overthrown overtook paid proved proven put ran read rebuilt rode ridden rang
risen rose rung said sang sank sat saw seen sent set sewn shook shaken shone shot shown shrank shut slain slept slew
slid sold sought sown spent spoke spoken split spread sprang stole stolen stood struck stuck strove strung sung sunk
swam swept swore sworn swung taken taught thought threw thrown told took tore torn undertook undertaken understood
undergone underwent upheld went withdrew withdrawn withheld woke won wore worn wound wove woven wrote written wed
overheard quit shed"""
)
# Verbs whose plain form follows a plural subject: "The Beatles include ...".
PLAIN = _words(
    """include contain consist live lie form make take give own operate produce belong compete represent
perform provide offer serve appear feature follow"""
)
# Verbs whose object is a clause, not a thing.
SAYING = _words(
    """said says say told tells added adds explained noted argued claimed claims thought thinks believed
believes knew knows felt feels hoped hopes wanted wants expected expects seemed seems according decided tried began
begins started starts continued continues insisted insists suggested suggests tweeted"""
)
# Before a number they are adverbs: "over 300 houses".
APPROXIMATELY = _words("about over around under up some only")
# Before "of" they are prepositions: "west of Paris".
DIRECTIONS = _words("west east north south northwest northeast southwest southeast outside inside ahead")

# The head noun of a complement, or of an office before a name, gives the kind of the entity.
_KINDS = {
    "person": """actor actress singer author writer novelist poet composer musician drummer guitarist bassist rapper
dancer songwriter player footballer cricketer quarterback wrestler boxer swimmer runner coach manager politician
lawyer judge senator congressman governor mayor president minister king queen prince princess emperor bishop
archbishop cardinal pope saint priest monk general admiral colonel captain officer soldier commander scientist
physicist chemist biologist mathematician astronomer engineer architect painter sculptor artist photographer
designer philosopher historian journalist director filmmaker producer screenwriter comedian model activist
businessman businesswoman businessperson entrepreneur investor inventor explorer economist physician doctor surgeon
nurse teacher professor scholar theologian diplomat ambassador nobleman noblewoman son daughter wife husband brother
sister mother father man woman ceo chairman founder presenter broadcaster host youtuber detective criminal botanist
geologist surveyor pianist violinist conductor instrumentalist goalkeeper midfielder striker defender golfer racer
driver cyclist skater gymnast editor critic essayist playwright dramatist librarian clerk baron duke earl count
knight""",
    "place": """city town village municipality commune settlement hamlet suburb neighborhood neighbourhood county
district province region state country nation republic territory island archipelago peninsula river stream lake sea
ocean bay strait mountain hill volcano valley desert forest park street road highway avenue square bridge castle
palace cathedral church temple mosque monastery abbey building skyscraper tower house stadium arena airport station
port harbour harbor capital borough parish township community area glacier reservoir dam cemetery observatory
lighthouse farm locality ward canal railway museum theatre theater""",
    "organization": """company corporation firm bank organization organisation agency institution institute university college
school academy party club team league union association society foundation charity band group orchestra choir
ensemble label studio publisher network channel broadcaster airline manufacturer retailer army navy regiment brigade
battalion government parliament court commission committee council ministry department church newspaper startup
brand conglomerate subsidiary hospital duo trio quartet""",
    "work": """film movie album song single book novel series show sitcom episode play musical opera game magazine poem
painting sculpture documentary soundtrack track anthem ballad mixtape memoir biography comic manga anime drama
miniseries comedy telenovela symphony trilogy""",
    "event": """war battle festival tournament championship competition election race match season conference treaty
revolution rebellion uprising massacre siege flood earthquake storm hurricane ceremony""",
}
KIND_OF_NOUN = {noun: kind for kind, nouns in reversed(_KINDS.items()) for noun in nouns.split()}
