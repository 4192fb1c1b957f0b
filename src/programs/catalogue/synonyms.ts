import { stem } from "./word-forms.ts";

/**
 * Words that people use for the same thing as those that tools are described with: a line for each. A word can stand in
 * several.
 */
const LINES = `
delete remove erase drop trash discard clear
create make add insert open start register file draft
update edit change modify rename alter set adjust
list show display view see browse enumerate
search find look lookup query locate discover google
send post deliver share
write author compose
message msg dm chat
mail email inbox mailbox
picture image photo drawing
draw generate paint
screenshot capture
directory folder dir
repository repo project
pr pull request
user person people member colleague team teammate
buy purchase order
issue bug ticket report
execute run invoke launch
rerun restart retry again
cancel abort stop end shut terminate kill
close finish complete done resolve
text content contents
meeting appointment event calendar
schedule plan create calendar
invite invitation attendee
document doc docs readme page
pay payment money charge
refund reimburse back money
invoice bill
bill cost costs spend spending expense price
fetch download retrieve read open load
upload push
commit save
weather forecast rain temperature sun
translate translation
phone call
movie film
todo task reminder
directions route navigate way
place restaurant shop address
geocode coordinates latitude
audio recording voice speech sound
transcribe dictation text
size big large small dimensions info
memory ram
remember memory recall store
log logs output
copy duplicate clone
move rename transfer
rollback revert undo previous earlier back return
compress zip archive pack
vm machine instance server
alert alarm notification notify warn
timer alarm countdown
hot warm warmer cold cooler temperature thermostat
parcel package shipment delivery
secret password credential token key
vulnerability vulnerable security cve
review reviewer approve approval
accept decline respond reply answer
web internet online website site google
url link page site
explain why reason
slow performance plan speed
columns column fields schema types
database db sql
dump backup export
container docker image
scale replicas resize
currency dollars euros exchange
stock share equity
customer client contact crm
song music playlist album
light lamp
summarize summary shorten tldr
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
export function synonymsOf(word: string): readonly string[] {
  return GROUPS.get(word) ?? [];
}
