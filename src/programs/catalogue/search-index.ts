import { isQuestion, queryWordsOf, stem, wordsOf } from "./query-words.ts";

/** A document: its fields, and how much a word counts in each. */
export interface SearchFields {
  readonly [field: string]: { readonly text: string; readonly weight: number };
}

/** What is found. */
export interface SearchDocument {
  readonly fields: SearchFields;
  /** Whether it answers questions, and does nothing else. */
  readonly answers: boolean;
}

/** Parameters of BM25: how soon a repeated word stops counting, and how much a long field is penalised. */
const K1 = 1.2;
const B = 0.6;

/** How much a word counts that means the same as one of the query, or begins with it. */
const SAME_WEIGHT = 0.7;
const PREFIX_WEIGHT = 0.5;

/** How rare a word has to be, compared with the rarest one of its query, in order to count. */
const LEAST_RARITY = 0.02;

/** Maximum number of words of a query, and of words that begin with one of them. */
const MAX_QUERY_WORDS = 32;
const MAX_EXPANSIONS = 8;

const MIN_PREFIX_LENGTH = 3;

/** How much a document counts that does more than answering, if the query is a question. */
const OTHER_WEIGHT = 0.8;

/** The documents with a word, and how much the word counts in each. */
interface Postings {
  readonly documents: Uint32Array;
  readonly scores: Float32Array;
}

/**
 * An index that ranks documents by BM25F over words in their basic forms. Everything that does not depend on
 * the query is computed once, so that a query only adds numbers.
 */
export class SearchIndex {
  readonly #postings = new Map<string, Postings>();
  /** Sorted by code units. */
  readonly #words: readonly string[];
  /** The sums of one query, all 0 between queries. */
  readonly #sums: Float64Array;
  readonly #found: Uint32Array;
  /** The last word of a query that counted for a document, and how much. */
  readonly #lastWord: Float64Array;
  readonly #lastScore: Float64Array;
  /** 1 for the documents that answer questions. */
  readonly #answers: Uint8Array;
  #word = 0;

  constructor(documents: readonly SearchDocument[]) {
    this.#answers = Uint8Array.from(documents, ({ answers }) => (answers ? 1 : 0));
    this.#sums = new Float64Array(documents.length);
    this.#found = new Uint32Array(documents.length);
    this.#lastWord = new Float64Array(documents.length);
    this.#lastScore = new Float64Array(documents.length);
    const read = documents.map(({ fields }) => frequenciesOf(fields));
    const average = averageLengths(read);
    const entries = new Map<string, [document: number, frequency: number][]>();
    for (const [document, fields] of read.entries()) {
      const frequencies = new Map<string, number>();
      for (const [field, { counts, length, weight }] of fields) {
        const norm = 1 - B + (B * length) / (average.get(field) ?? 1);
        for (const [word, count] of counts) {
          frequencies.set(word, (frequencies.get(word) ?? 0) + (weight * count) / norm);
        }
      }
      for (const [word, frequency] of frequencies) {
        const list = entries.get(word);
        if (list === undefined) entries.set(word, [[document, frequency]]);
        else list.push([document, frequency]);
      }
    }
    for (const [word, list] of entries) {
      this.#postings.set(word, {
        documents: Uint32Array.from(list, ([document]) => document),
        scores: Float32Array.from(list, ([, frequency]) => (frequency * (K1 + 1)) / (K1 + frequency)),
      });
    }
    this.#words = [...entries.keys()].sort();
  }

  /**
   * Returns the documents that match a query best, the best one first, by their indices.
   *
   * @param accepts Whether a document may be returned. Called for the best ones only.
   */
  search(query: string, limit: number, accepts: (document: number) => boolean): readonly number[] {
    const sums = this.#sums;
    let count = 0;
    const terms = this.#termsOf(query).filter(({ size }) => size > 0);
    const rarities = terms.map((alternatives) => this.#rarityOf(alternatives));
    const least = LEAST_RARITY * Math.max(...rarities);
    for (const [index, alternatives] of terms.entries()) {
      const rarity = rarities[index] as number;
      // Words of nearly all documents do not distinguish documents, and take the most time.
      if (rarity < least) continue;
      // Of words for the same thing, the one counts that fits a document best.
      this.#word++;
      for (const [word, weight] of alternatives) {
        const { documents, scores } = this.#postings.get(word) as Postings;
        for (let i = 0; i < documents.length; i++) {
          const document = documents[i] as number;
          const score = rarity * weight * (scores[i] as number);
          const counted = this.#lastWord[document] === this.#word ? (this.#lastScore[document] as number) : 0;
          if (score <= counted) continue;
          const before = sums[document] as number;
          if (before === 0) this.#found[count++] = document;
          sums[document] = before + score - counted;
          this.#lastWord[document] = this.#word;
          this.#lastScore[document] = score;
        }
      }
    }
    if (isQuestion(query)) this.#favourAnswers(count);
    const best = this.#best(count, limit, accepts);
    for (let i = 0; i < count; i++) sums[this.#found[i] as number] = 0;
    return best;
  }

  /** Lowers the rank of found documents that do more than answer. */
  #favourAnswers(count: number): void {
    for (let i = 0; i < count; i++) {
      const document = this.#found[i] as number;
      if (this.#answers[document] === 0)
        this.#sums[document] = OTHER_WEIGHT * (this.#sums[document] as number);
    }
  }

  /** Takes the best documents one after the other out of a heap: only a few are asked for. */
  #best(count: number, limit: number, accepts: (document: number) => boolean): readonly number[] {
    const heap = this.#found;
    const sums = this.#sums;
    const isBetter = (a: number, b: number): boolean => {
      const difference = (sums[a] as number) - (sums[b] as number);
      return difference !== 0 ? difference > 0 : a < b;
    };
    const sink = (from: number, size: number): void => {
      let at = from;
      const moved = heap[at] as number;
      for (;;) {
        let child = 2 * at + 1;
        if (child >= size) break;
        if (child + 1 < size && isBetter(heap[child + 1] as number, heap[child] as number)) child++;
        if (!isBetter(heap[child] as number, moved)) break;
        heap[at] = heap[child] as number;
        at = child;
      }
      heap[at] = moved;
    };
    for (let i = (count >> 1) - 1; i >= 0; i--) sink(i, count);
    const best: number[] = [];
    for (let size = count; size > 0 && best.length < limit; size--) {
      const first = heap[0] as number;
      if (accepts(first)) best.push(first);
      // The taken one stays in the list, behind the heap, so that its sum is reset, too.
      heap[0] = heap[size - 1] as number;
      heap[size - 1] = first;
      sink(0, size - 1);
    }
    return best;
  }

  /** The words of a query, each with those for the same thing and longer ones, and how much they count. */
  #termsOf(query: string): readonly ReadonlyMap<string, number>[] {
    return queryWordsOf(query)
      .slice(0, MAX_QUERY_WORDS)
      .map((word) => {
        const terms = new Map<string, number>();
        for (const other of synonymsOf(word)) terms.set(other, SAME_WEIGHT);
        if (!this.#postings.has(word))
          for (const longer of this.#longerThan(word)) terms.set(longer, PREFIX_WEIGHT);
        terms.set(word, 1);
        for (const term of terms.keys()) if (!this.#postings.has(term)) terms.delete(term);
        return terms;
      });
  }

  /** How much the words say together: the fewer documents have one of them, the more. */
  #rarityOf(words: ReadonlyMap<string, number>): number {
    const all = this.#sums.length;
    let having = 0;
    for (const [word, weight] of words)
      having += weight * (this.#postings.get(word) as Postings).documents.length;
    having = Math.min(having, all);
    return Math.log(1 + (all - having + 0.5) / (having + 0.5));
  }

  #longerThan(prefix: string): readonly string[] {
    if (prefix.length < MIN_PREFIX_LENGTH) return [];
    let [low, high] = [0, this.#words.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#words[middle] as string) < prefix) low = middle + 1;
      else high = middle;
    }
    return this.#words.slice(low, low + MAX_EXPANSIONS).filter((word) => word.startsWith(prefix));
  }
}

/** How often each word occurs in a field. */
interface ReadField {
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
  readonly weight: number;
}

function frequenciesOf(fields: SearchFields): ReadonlyMap<string, ReadField> {
  return new Map(
    Object.entries(fields).map(([field, { text, weight }]) => {
      const words = wordsOf(text);
      const counts = new Map<string, number>();
      for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
      return [field, { counts, length: words.length, weight }];
    }),
  );
}

function averageLengths(read: readonly ReadonlyMap<string, ReadField>[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const fields of read) {
    for (const [field, { length }] of fields) sums.set(field, (sums.get(field) ?? 0) + length);
  }
  return new Map([...sums].map(([field, sum]) => [field, Math.max(sum / read.length, 1)]));
}

/**
 * Groups of words that users and descriptions of tools use for the same thing, one per line. A word can stand
 * in several.
 */
const LINES = `
delete remove erase drop trash discard clear purge wipe destroy uninstall dispose
cancel delete remove revoke withdraw
create make add insert open start register file draft build compose establish generate initiate produce prepare
add append attach include put
update edit change modify rename alter set adjust correct amend revise fix replace swap patch reschedule postpone delay shift
list show display view see browse enumerate overview
read show view open see display
search find look lookup query locate discover google seek hunt exist already
send post deliver share tell inform forward notify submit
write author compose save store
save store keep write record
upload put push store save
start boot launch begin run enable power
check verify test validate inspect status
count number total many sum
click press tap push hit
type enter fill input write
message msg dm chat
mail email inbox mailbox
picture image photo photograph drawing logo icon
draw generate paint sketch
screenshot capture snapshot
directory folder dir
repository repo project codebase
pr pull request
user person people member colleague team teammate developer account
buy purchase order
issue bug ticket report defect
error failure fail failed problem crash exception log
execute run invoke launch
rerun restart retry again
cancel abort stop end shut terminate kill halt quit
close finish complete done resolve
open reopen
text content contents paragraph
meeting appointment event calendar call
schedule plan create calendar book reserve
invite invitation attendee
document doc docs readme page wiki article note
readme file
file document spreadsheet
pay payment money charge fee
money amount cash sum payment euros dollars pounds currency
refund reimburse back money
invoice bill
bill cost costs spend spending expense expenses price pay charge
transaction spend spent purchase expense payment
fetch download retrieve read open load
upload push
commit save
weather forecast rain raining temperature sun sunny snow wind storm
translate translation language
phone call telephone
movie film
todo task reminder chore
directions route navigate way travel
place restaurant shop address venue
hotel room stay accommodation lodging
flight plane airline fly
car vehicle
geocode coordinates latitude longitude
address street
audio recording voice speech sound
transcribe dictation text
size big large small smaller larger bigger dimensions info
resize size scale shrink enlarge
cpu processor machine type
memory ram
disk storage space
storage bucket object blob
remember memory recall store
know knowledge memory
forget delete remove memory
log logs output
copy duplicate clone replica
move rename transfer put
rollback revert undo previous earlier back return
compress zip archive pack
vm machine instance server host node
deploy release ship publish
alert alarm notification notify warn warning
metric metrics graph chart plot series statistics latency
timer alarm countdown
hot warm warmer cold cooler temperature thermostat heating heat
parcel package shipment delivery
package dependency library module
secret password credential token key
vulnerability vulnerable security secure cve
review reviewer approve approval
accept agree confirm yes
decline reject refuse no
accept decline respond reply answer
reply respond answer
assign give delegate
web internet online website site google
url link page site website
explain why reason
slow performance plan speed
columns column fields field schema types structure
rows row records record entries
database db sql
dump backup export
container docker image
scale replicas resize
currency dollars euros exchange yen pounds
stock share shares equity trading ticker
customer client contact crm buyer
song music playlist album
light lamp bulb
button element link
summarize summary shorten tldr brief
star favourite favorite bookmark like
version release revision
`;

/** The groups of each stem, by number. */
const GROUPS: ReadonlyMap<string, readonly string[]> = readGroups();

function readGroups(): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const line of LINES.trim().split("\n")) {
    const stems = line.split(" ").map(stem);
    for (const each of stems) {
      const others = groups.get(each) ?? [];
      others.push(...stems.filter((other) => other !== each));
      groups.set(each, others);
    }
  }
  return groups;
}

/** Returns the stems of words that can mean the same as a stem. */
function synonymsOf(word: string): readonly string[] {
  return GROUPS.get(word) ?? [];
}
