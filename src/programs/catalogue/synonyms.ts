import { stem } from "./query-words.ts";

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
export function synonymsOf(word: string): readonly string[] {
  return GROUPS.get(word) ?? [];
}
