"""Closed word lists of the rule-based extractor: words that only look like names, and words that reveal a name's kind."""

from __future__ import annotations

from hlgraph.text import STOP_WORDS


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def _lines(text: str) -> frozenset[str]:
    """Entries of several words, separated by bars."""
    return frozenset(text.replace("\n", "").split("|"))


_MONTHS = """January February March April May June July August September October November December"""
MONTHS = tuple(_MONTHS.split())

CALENDAR = word_set(
    """monday tuesday wednesday thursday friday saturday sunday spring summer autumn winter montag dienstag mittwoch donnerstag
freitag samstag sonntag segunda terça quarta quinta sexta sábado lunes martes miércoles jueves viernes maandag dinsdag
woensdag donderdag vrijdag zaterdag zondag lundi mardi mercredi jeudi vendredi samedi dimanche"""
) | {month.lower() for month in MONTHS}

DEMONYMS = word_set(
    """african afghan albanian algerian american anglo arab arabic argentine argentinian armenian asian australian austrian
azerbaijani bangladeshi bavarian belarusian belgian bengali bolivian bosnian brazilian british bulgarian burmese
cambodian cameroonian canadian caribbean catalan catholic celtic chilean chinese christian colombian croatian cuban
cypriot czech danish dutch ecuadorian egyptian english estonian ethiopian european filipino finnish flemish french
georgian german germanic ghanaian greek gujarati hawaiian hebrew hindi hindu hispanic hungarian icelandic indian
indonesian iranian iraqi irish islamic israeli italian jamaican japanese jewish jordanian kannada kazakh kenyan
korean kurdish kuwaiti latin latvian lebanese libyan lithuanian malay malayalam malaysian maltese mandarin marathi
mediterranean mexican mongolian moroccan muslim nepalese nepali nigerian nordic norwegian ottoman pakistani
palestinian persian peruvian polish portuguese protestant prussian punjabi roman romanian russian sanskrit saudi
scandinavian scottish serbian sicilian slavic slovak slovenian somali soviet spanish swedish swiss syrian taiwanese
tamil telugu thai tibetan tunisian turkish ugandan ukrainian urdu uruguayan venezuelan vietnamese welsh yugoslav
anglican norman norse frankish byzantine confederate allied nazi republican republicans democratic democrat
democrats buddhist buddhists levantine latino latinos slavs soviets nazis carolingian victorian elizabethan
hellenistic aramaic amharic persians ottomans byzantines normans franks philippine bohemian tuscan venetian
florentine parisian californian texan afro americans germans russians indians italians canadians australians romans
greeks jews christians muslims europeans africans arabs turks spaniards danes swedes poles northern southern eastern
western central"""
)

# Sentences often begin with these words, which are then removed from the front of a name ("Former President ...").
OPENERS = STOP_WORDS | word_set(
    """selon según siehe ohne esta este estas estes essa esse isto ces cet cette zie volgens segundo het een dit deze wij zij
even back like according accordingly across actually additionally ago almost alone along alongside already although
altogether amid among amongst annually anyone anything apart apparently appointed approximately around aside based
basically because being besides born both built certain clearly commonly compared composed conceived concerning
consequently considering contrary conversely created currently described designed despite developed directed due
during earlier early economically educated either elected elsewhere especially essentially established eventually
everyone everything except exiled famously featuring following follows formed former formerly founded frequently
fully furthermore generally given having hence historically hopefully hosted hundreds immediately included including
increasingly indeed initially inside inspired instead interestingly internationally known largely lastly late later
led likewise located mainly many married meanwhile mid moreover mostly musically named nationally naturally nearby
nearly neighboring neighbouring neither nevertheless nobody none nonetheless normally notably nothing nowadays
numerous obviously occasionally officially often oh ok okay originally others otherwise outside overall owing owned
partially partly per performed perhaps physically played politically powered presently previously primarily prior
probably produced published quite raised rather recently recorded regarded regarding regardless related released
respectively roughly secondly several shortly similarly simply simultaneously since situated sometimes soon
specifically starring still subsequent subsequently successful suddenly surely surprisingly taken thereafter thereby
therefore thirdly though throughout till together totally toward towards traditionally trained typically ultimately
undoubtedly unfortunately unless unlike unlikely using usually various versus via well whatever whenever whereas
wherever whether whichever while whoever written yes yesterday yet"""
)
GERMAN_OPENERS = word_set(
    """der die das den dem des ein eine einer einen einem eines im am beim zum zur nach vor seit mit auf bei für es er sie
wir ich ihr sein seine ihre dieser diese dieses ist sind war wer wie was wann wo ohne siehe zwei drei vier kein keine"""
)
# Not names on their own at the beginning of a sentence or in a heading; they may be part of a longer name.
ORDINARY = (
    OPENERS
    | CALENDAR
    | word_set(
        """abstract acknowledgements actor actress actual additional adult adults advertisement age album albums alternative
analysis analysts animals annual answer answers appendix art article articles artists arts audiences author authors
average awards background beginning best better bibliography big biography birds books boys brother brothers
business businesses capital care career cast caution chairman chapter characters children cities citizens city class
click color colour communication companies company conclusion conclusions construction contents context control cost
costs countries country crew criticism critics cultural culture current customers damage dance data date daughter
daughters day days dead dear death deaths dedicated demand design details development different dinner director
discography discussion distribution doctors economic economy education eight eighteen eighth eighty eleven employees
employment end energy engineers entertainment environment episode episodes equal equipment etymology events evidence
evolution example examples experts exports facilities faculty fair family famous fans farmers father features
federal fellow fewer fifteen fifth fifty figure figures film filmography films final finally financial fire first
fish five flights flowers follow food foods football forced foreign forty founder four fourteen fourth free freedom
friends full fun funds game games gas geographically girls god gold good gov government governments graduates great
group groups guests half health heat heavy hello help high higher hills history home homes host hot human humans
hundred husband images immigrants important imports incidents income independent individual individuals industrial
industry infant information inhabitants international introduction investors islands issue issues job jobs justice
key kids king kings lack land language languages large last latter law laws lawyers lead leaders least left legal
legend legislation less let letters level library life light like likely line lines list literacy little live living
local long look lots love low lower machine main major make makes making male males man managers maps marine
marketing marketplace mass material materials maximum maybe mayor measures media medical members membership memory
men metal methods military million millions minister modern money months moral mother motion mountains movement
movies mr mrs music names national natural nature net new next nine nineteen ninety ninth non north northern note
notes number objects officers officials oil old older one ones open opened opening opponents opposite opposition
ordinary original overview owners page pages paper parallel parents part participants parties parts party passengers
past patients peace people performance performances permanent person personal persons photo photos phrases place
places plans plant plants players please plot plus poetry police political politics population positive possible
post power premiered present president pressure prices prisoners private problems proceeds process production
products professional professor programs progress property proponents prosecutors protesters public publication
publisher pupils question questions rail rain ratings read reading real really reason reasons recent reception
record recording records reference references refugees religion religious remains remember rep report reports
representatives research researchers residents respect results revenue reviewers reviews rice right rights rivers
roads role royal rule rules rumors said sales say says scenes scholars school schools science scientific scientists
seasons second section see seeing sen series services settlement settlers seven seventeen seventh seventy sex share
ship ships shooting shops side sign similar singer singles sister sisters site six sixteen sixth sixty sketches
slaves small snow social society soil soldiers sole son songs sons sound source sources southern space special
specialized species specimens speech speed sport sports staff stage standard star stars start started starting state
statement states statistics steel step steps stone stories story structure student students studies study style
subject success sugar summary supply support supporters sure survivors symptoms synopsis system table target tax
teachers teaching team teams technical technology tell temperatures ten tens tenth territory text thanks theory
things think third thirteen thirty thousand thousands three time times tip tips title titled titles today tomorrow
tonight top total tourism tourists towns track tracks trade traditional traffic training trains transport
transportation travel travelers treatment trees troops trustees try twelve twenty two type types typical university
upcoming urban use used users uses variations vehicles version versions victims video videos views village villages
violence vision visitors visual vocals volunteers voters voting wait want war warning warnings watch water ways
weather wife wikipedia wind wine winner winners winter wireless wives woman women wood word words work workers
working works world worldwide writer writers writing year years young younger youth zero"""
    )
)

# A first word of a sentence with one of these endings is more often a common noun or a participle than a name.
_ENDINGS = """ing ed ly tion tions sion ment ments ness ity ism ship ance ence"""
COMMON_ENDINGS = tuple(_ENDINGS.split())

HONORIFICS = word_set(
    "mr mrs ms miss mx dr prof professor sir dame rev reverend hon herr frau monsieur madame señor mevr dhr mej senhor signor"
)

ROLES = word_set(
    """president chancellor premier senator congressman congresswoman governor mayor judge justice general colonel captain
lieutenant sergeant admiral commander cardinal archbishop bishop father pastor rabbi imam director producer actor
actress singer author writer novelist poet composer drummer guitarist bassist coach manager chairman chairwoman ceo
secretary minister ambassador representative commissioner engineer architect scientist physicist inventor explorer
detective inspector officer agent comedian journalist designer founder"""
)
# "Duke of Kent": the part after "of" is a name too.
TITLES_OF = ROLES | word_set(
    """king queen prince princess duke duchess earl count countess baron baroness marquess marquis viscount lord lady
emperor empress sultan tsar shah elector margrave landgrave regent pope abbot dean archduke archduchess grand saint"""
)
NOBILITY = word_set(
    """Duke Duchess Earl Count Countess Baron Baroness Marquess Marchioness Marquis Viscount Viscountess Archduke
Archduchess Landgrave Margrave Elector Baronet"""
)

ORGANIZATIONS = word_set(
    """inc ltd llc plc corp corporation company co gmbh ag university college school academy institute institution museum
library association society foundation federation union council committee commission agency authority bureau
department ministry office administration board bank group holdings industries partners club fc party church
congress parliament senate court orchestra philharmonic press records pictures studios entertainment productions
network airlines railway railroad league conference center centre hospital laboratory laboratories organization
organisation alliance trust insurance assurance guild brigade regiment army navy faculty service services
secretary minister"""
)
PLACES = word_set(
    """river lake mountain mountains mount county city town township village island islands bay sea ocean strait gulf
valley street avenue road bridge park forest desert peninsula province district prefecture region airport station
castle palace cathedral creek falls canyon fort cape beach harbor harbour republic"""
)
# A name that begins with one of these is not a first name and a surname: its last word is not a short form of it.
NOT_A_FIRST_NAME = (
    PLACES
    | ORGANIZATIONS
    | DEMONYMS
    | word_set(
        """the new north south east west upper lower greater great san santa st saint los las el la le les old royal united
super grand world international national federal first second third general air big little black white red blue
green golden sri mt ft port al de university battle treaty house game star real inter miss captain team nazi ancient
imperial medieval inner outer virgin nintendo microsoft google amazon mr mrs"""
    )
)

# Words between two capitalised words across which a name continues.
_PARTICLES = """of|of the|of a|de|de la|de las|de los|del|della|di|da|do|dos|das|du|des|la|le|van|van der|van de|van den|von
|von der|vom|von dem|mac|mc|ap|zu|zur|der|den|ter|ten|af|av|al|el|bin|ibn|ben|bint|y|e|und|the|et|delle|dei|degli|sur
|upon|&|'n'|’n’"""
PARTICLES = frozenset(f" {gap} " for gap in _lines(_PARTICLES))
# The same inside the name of an organization.
ORGANIZATION_PARTICLES = frozenset((" for ", " for the ", " to ", " on ", " and ", " and the ", " at ", ", and "))
PAIRS_WITH_AND = _lines(
    """Trinidad and Tobago|Bosnia and Herzegovina|Antigua and Barbuda|Romeo and Juliet|Johnson and Johnson|Tyne and Wear
|Jammu and Kashmir|Newfoundland and Labrador|Rodgers and Hammerstein|Smith and Wesson"""
)
# Never names on their own, even with a capital: offices, kinds of organizations and places, everyday abbreviations.
GENERIC = (
    (ORGANIZATIONS - {"congress", "parliament", "senate"})
    | PLACES
    | TITLES_OF
    | HONORIFICS
    | word_set(
        """act award awards crown constitution cup empire hall internet league website test state states union revolution
republic section treaty war wars century street web tv dvd dvds cd cds ep eps lp lps fm vhs phd ph.d ba b.a ma m.a
bs b.s mvp ceo cfo cto ad bc am pm no nr vol op rpm usd gmt utc est pst et al cm mm km kg dj vs pc mp suv ii iii iv
no.1 play game part black white red blue green gold silver platinum saint st allies axis heaven give jr sr junior
baronet house uss hms zip go cat box true false he in senior fall elder musical finals universe northeast southeast northwest
southwest midwest liberal conservative labor labour eve"""
    )
    | _lines(
        """prime minister|prime ministers|vice president|deputy prime minister|foreign minister|chief justice|head coach
|chief executive|chief executive officer|executive producer|general manager|general secretary|secretary general|first lady
|commander in chief|world champion|hall of fame|hot 100"""
    )
)
ADJECTIVES = (
    DEMONYMS
    | CALENDAR
    | word_set("north south east west northern southern eastern western central native new old mid late early")
)
# A full stop after these belongs to the name.
DOTTED = word_set("st dr mr mrs ms prof jr sr mt ft gen col capt lt sgt rev hon no gov sen rep inc co ltd corp bros vs")

# Nouns that refer to the entity in the title: "The film stars ...".
SELF_NOUNS = word_set(
    """film movie song album single book novel series show band group company organization organisation city town village
river school university station team club game episode magazine newspaper museum building bridge church island lake
county district municipality genus species play opera musical award festival airport college firm"""
)
