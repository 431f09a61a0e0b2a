"""Which language a text in Latin letters is in, told from its commonest words; and the words a query can leave out.

The lists hold function words only. They serve two ends: a text whose words are often found in one list is in that
language (its stemmer is used), and a query loses the words of its own language's list, which say nothing about what
it looks for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

ENGLISH = "english"

_STOP_WORDS = {
    ENGLISH: """a about above after again against all also am an and any are aren't as at be because been before being
        below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during
        each few for from further had hadn't has hasn't have haven't having he her here hers herself him himself his
        how i if in into is isn't it it's its itself let's me more most my myself no nor not of off on once only or
        other our ours ourselves out over own same she should shouldn't so some such than that that's the their theirs
        them themselves then there these they they're this those through to too under until up upon us very was wasn't
        we were weren't what what's when where which while who who's whom whose why will with won't would wouldn't you
        your yours yourself yourselves""",
    "german": """aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da damit dann das
        dass dein dem den denn der des dessen deren dich die dies diese diesem diesen dieser dieses dir doch dort du
        durch ein eine einem einen einer eines er es etwas euch euer für gegen hat hatte hatten hier hinter ich ihm ihn
        ihnen ihr ihre ihrem ihren ihrer im in ist ja jede jedem jeden jeder jedes kann kein keine keinem keinen keiner
        können man mein mich mir mit nach nicht noch nun nur ob oder ohne sehr sein seine seinem seinen seiner sich sie
        sind so solche soll sondern sonst um und uns unser unter viel vom von vor war waren warum was weil welche
        welchem welchen welcher welches wenn wer werde werden wessen wie wieder will wir wird wo worden wurde wurden zu
        zum zur zwar zwischen über""",
    "french": """alors au aucun aussi autre aux avec avait ce cela celle celui ces cet cette ceux chez comme dans de des
        donc dont du elle elles en encore entre est et été être eu eux il ils je la le les leur leurs lui mais me même
        mes moi mon ne nos notre nous on ont ou où par pas pendant plus pour pourquoi qu quand que quel quelle quelles
        quels qui quoi sa sans se ses si son sont sous sur ta te tes toi ton tous tout toute très tu un une vos votre
        vous à""",
    "spanish": """al algo algunos ante antes como con contra cual cuál cuando cuándo cuánto de del desde donde dónde
        durante e el ella ellas ellos en entre era es esa ese eso esta está están estas este esto estos fue fueron ha
        había han hasta hay la las le les lo los más me mi mientras muy nada ni no nos nosotros o otra otro para pero
        por porque que qué quien quién se ser si sí sin sobre son su sus también tanto te tiene todo todos tu un una
        uno unos y ya yo""",
    "italian": """agli ai al alla alle allo anche che chi ci come con contro cosa cui da dagli dai dal dalla dalle degli
        dei del della delle dello di dove due e ed era erano essere fra gli ha hanno i il in io la le lei li lo loro lui
        ma mi nei nel nella nelle noi non nostro o perché per più quale quali quando quanto quella quelle quello questa
        queste questi questo se sei si sia sono su sua sue sul sulla suo suoi tra tu un una uno vi voi è""",
    "portuguese": """ao aos as até às com como da das de dele dela depois do dos e é ela elas ele eles em entre era essa
        esse esta está este eu foi foram há isso isto já mais mas me mesmo minha muito na nas não nem no nos nós nossa o
        os ou para pela pelas pelo pelos por porque qual quando quanto que quem são se sem ser seu seus só sobre sua
        suas também te tem tinha um uma você""",
    "dutch": """aan als al alles ben bij daar dan dat de deze die dit door dus een en er ge geen had heb hebben heeft
        het hier hij hoe hun ik in is je kan kon maar me meer men met mij mijn moet na naar niet niets nog nu of om
        omdat ons ook op over te toch toen tot u uit uw van veel voor waar waarom wanneer waren was wat welke werd wie
        wij worden wordt zal ze zich zij zijn zo zonder zou""",
    "swedish": """alla att av blev bli blir då de dem den denna deras dess det detta dig din du där eller en er ett från
        för ha hade han har hans hennes hon honom hur här i icke ingen inte jag ju kan kunde man med mellan men mig min
        mot mycket ni nu när något några och om oss på samma sedan sig sin sina själv skulle som så till under upp ut
        utan vad var vara varför vem vi vid vilken vilka är över""",
    "danish": """af alle at blev blive bliver da de dem den denne der deres det dette dig din disse du efter eller en er
        et for fra ham han hans har havde hende hendes her hos hun hvad hvem hvilken hvis hvor hvordan hvorfor i ikke
        ind jeg jo kunne man mange med meget men mig min mod når noget nogle nu og også om op os over på selv sig sin
        skal skulle som sådan thi til ud under var vi vil ville være været""",
    "norwegian": """alle at av bare begge ble bli blir da de dem den denne der deres det dette deg din disse du eller en
        enn er et ett etter for fordi fra før ha hadde han hans har hennes her hun hva hvem hvilken hvis hvor hvordan
        hvorfor i ikke inn jeg kan kunne man mange med meg meget mellom men min mot mye når noe noen nå og også om opp
        oss over på seg selv sin skal skulle slik som så til ut uten var ved vi vil ville være vært""",
    "finnish": """että ei eivät en ennen haluaa han he hän hänen ja jo joka joiden jonka jos josta jossa jotka jotta
        kaikki kanssa kautta keskellä koska kuin kuinka kuka kun me mikä miksi milloin minkä minä missä mitä mukaan
        mutta myös ne niiden niin noin nyt näiden nämä oli olivat olla on ovat se sekä sen siitä sinä sitä tai te tämä
        tämän vai vaan vain voi yli""",
    "hungarian": """a abban ahhoz ahogy aki akik akkor amely amelyek ami annak arra az azok azon azt azután be csak de
        egy egyes egyik el ennek erre és ez ezek ezen ezt fel hanem hogy hogyan hol ill ilyen is itt jól ki kell lehet
        lesz lett ma már meg melyik mely mert mi mikor milyen mind mint miért mit nagyon nem nincs ők őt pedig s sem
        sok szerint több tovább új után utána vagy van volna volt voltak""",
    "romanian": """acea aceasta această aceea acest acesta ai al ale am ar are asupra au avea ca când care ce cel cei
        cele cine cu cum dacă dar de decât deși din după ea ei el ele era este eu fi fie fost fără iar în între îi își
        la lui mai mult ne nici noi nu o or pe pentru peste prin sa sale sau se si și spre sub sunt să săi te toate tot
        tu un una unde unei unor unui va vor""",
    "turkish": """ama ancak bazı ben bir biri birkaç bu buna bunu bunun çok çünkü da daha de değil diye en gibi göre
        hangi hem hep her hiç için ile ise işte kadar kendi ki kim mi mu mü mı nasıl ne neden nerede o olan olarak
        oldu olduğu on ona onlar onu onun sen siz sonra şey şu tüm var ve veya ya yani yer yok zaman""",
}

STOP_WORDS = {language: frozenset(words.split()) for language, words in _STOP_WORDS.items()}

_LANGUAGES_OF_WORD: dict[str, tuple[str, ...]] = {}
for _language, _words in STOP_WORDS.items():
    for _word in _words:
        _LANGUAGES_OF_WORD[_word] = (*_LANGUAGES_OF_WORD.get(_word, ()), _language)

# Enough words to tell; more would only cost time (a chunk of 256 tokens holds about 180 words).
_SAMPLE_WORDS = 160


def detect_language(words: Sequence[str]) -> str:
    """The language with the most function words among the first casefolded words; English when in doubt."""
    votes: Counter[str] = Counter()
    for word in words[:_SAMPLE_WORDS]:
        if word in _LANGUAGES_OF_WORD:
            votes.update(_LANGUAGES_OF_WORD[word])
    if not votes:
        return ENGLISH
    best, count = max(votes.items(), key=lambda vote: (vote[1], vote[0] == ENGLISH, vote[0]))
    # One shared word proves nothing ("die", "in", "a"), and a foreign name in English text has a word or two.
    return best if count >= 2 and count > votes[ENGLISH] else ENGLISH
