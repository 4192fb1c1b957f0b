const NAMED = new Map([
  ["period", "."],
  ["commat", "@"],
  ["sol", "/"],
  ["colon", ":"],
]);
const ENTITY = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(period|commat|sol|colon));?/gi;
/** Characters that a link needs, percent-encoded. Others stay as they are: a decoded blank would cut the link. */
const ENCODED = /%([2-7][0-9a-f])/gi;
const NEEDED = /[\w.@:/-]/;
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** White space that is not one blank. */
const BLANK = /[\s\p{Cc}]{2,}|[^\S ]|\p{Cc}/gu;
/** Ligatures of whole words, which become up to 18 letters, and none that a link has. */
const LIGATURES = /[\uFDF0-\uFDFF]/g;
const NOT_ASCII = /[^\0-\x7f]/;
/** Whether a text may have one of the {@link DISGUISES}: most have none. */
const MAY_DISGUISE = /[([{@。⁄∕]| \.| dot /i;

/** Spellings of characters in links that people and programs read as the character. */
const DISGUISES: readonly (readonly [pattern: RegExp, character: string])[] = [
  [/ ?[([{] ?(?:\.|dot) ?[)\]}] ?/gi, "."],
  [/ ?[([{] ?(?:@|at) ?[)\]}] ?/gi, "@"],
  [/ ?[([{] ?: ?[)\]}] ?/g, ":"],
  [/ dot /gi, "."],
  [/。/g, "."],
  [/[⁄∕]/g, "/"],
  [/ \.(?=\p{L})/gu, "."],
  [/ ?@ ?/g, "@"],
];

/**
 * Returns a text as a reader understands it: without invisible characters, with one blank for white space, in the
 * compatibility form of Unicode, and with `x[.]com`, `x dot com`, `x&#46;com` and `x%2Ecom` as `x.com`. In linear time.
 */
export function plainText(text: string): string {
  const decoded = text.replace(ENTITY, decodeEntity).replace(ENCODED, (written, code: string) => {
    const character = String.fromCharCode(Number.parseInt(code, 16));
    return NEEDED.test(character) ? character : written;
  });
  const visible = NOT_ASCII.test(decoded)
    ? decoded.replace(LIGATURES, " ").normalize("NFKC").replace(INVISIBLE, "")
    : decoded;
  let plain = visible.replace(BLANK, " ");
  if (!MAY_DISGUISE.test(plain)) return plain;
  for (const [pattern, character] of DISGUISES) plain = plain.replace(pattern, character);
  return plain;
}

function decodeEntity(written: string, decimal?: string, hexadecimal?: string, name?: string): string {
  if (name !== undefined) return NAMED.get(name.toLowerCase()) ?? written;
  const code = decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number(decimal);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : written;
}
