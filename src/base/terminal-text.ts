/**
 * Control sequences of ECMA-48, as programs write them for terminals: CSI (colours, movements of the cursor), the strings that OSC,
 * DCS, SOS, PM and APC begin (titles, links), and other escapes. A sequence without an end takes nothing but its beginning.
 */
const SEQUENCES =
  /\u001b(?:\[[0-?]{0,256}[ -/]{0,16}[@-~]|[\]PX^_][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\)|[ -/]{0,16}[0-OQ-WYZ\\`-~])/g;

/** Control characters without a meaning in a text. */
const CONTROLS = /[\u0000-\u0007\u000e-\u001f\u007f]/g;

/**
 * Returns what a terminal would show of a program's output: without control sequences, and of each line what was written last
 * after a carriage return, as progress is.
 */
export function plainText(text: string): string {
  // Most outputs have none of this.
  if (!HAS_CONTROLS.test(text)) return text;
  const lines = text.replace(SEQUENCES, "").split("\n").map(lastWritten);
  return lines.map(withoutErased).join("\n").replace(CONTROLS, "");
}

const HAS_CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/;

/** A carriage return begins the line again. One at its end is part of the line end. */
function lastWritten(line: string): string {
  const end = line.endsWith("\r") ? line.replace(/\r+$/, "") : line;
  return end.slice(end.lastIndexOf("\r") + 1);
}

/** A backspace takes back the character before it. */
function withoutErased(line: string): string {
  if (!line.includes("\b")) return line;
  const left: string[] = [];
  for (const character of line) {
    if (character === "\b") left.pop();
    else left.push(character);
  }
  return left.join("");
}
