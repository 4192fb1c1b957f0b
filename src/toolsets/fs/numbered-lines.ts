/** How wide a number is at least, as `cat -n` writes it. */
const WIDTH = 6;

/** A line with its number, as `cat -n` writes it. */
export function numberedLine(number: number, line: string): string {
  return `${String(number).padStart(WIDTH)}\t${line}`;
}

/** Returns the lines of a text with their numbers. A line end at the end of the text begins no line. */
export function numberLines(text: string, first: number): string {
  return text
    .split("\n")
    .slice(0, text.endsWith("\n") ? -1 : undefined)
    .map((line, index) => numberedLine(first + index, line))
    .join("\n");
}

/** Whether a text consists of lines with such numbers, one after the other, as they are read in the result of a tool. */
export function hasLineNumbers(text: string): boolean {
  const lines = text.replace(/\r?\n$/, "").split("\n");
  const [first = -1] = lines.map(numberOf);
  return first >= 0 && lines.every((line, index) => numberOf(line) === first + index);
}

function numberOf(line: string): number {
  const [, digits] = /^(?= {0,5}\d+\t)(?=[ \d]{6,16}\t) *(\d+)\t/.exec(line) ?? [];
  return digits === undefined ? -1 : Number(digits);
}

/** What the model reads of a new text that has line numbers. */
export const NUMBERED: string =
  "each line of the new text begins with a line number as read_file shows it, which would get into the file. Leave the " +
  "numbers out, with the tab after each; to have them in the file, write it with a command.";
