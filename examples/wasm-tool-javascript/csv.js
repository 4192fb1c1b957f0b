/**
 * Parses delimiter-separated values (RFC 4180). Returns the rows, each with the number of its first line, and the
 * problem that stopped the parser, if any. Empty lines are skipped.
 */
export function readRows(text, delimiter) {
  const field = fieldPattern(delimiter);
  const rows = [];
  let line = 1;
  let row = { line, fields: [] };
  while (field.lastIndex < text.length || row.fields.length > 0) {
    const [whole, quoted, plain, end] = field.exec(text) ?? [];
    if (whole === undefined)
      return { rows, problem: `line ${line}: a quote is not closed, or is inside an unquoted field` };
    row.fields.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    line += whole.match(/\r\n|\n|\r/g)?.length ?? 0;
    if (end === delimiter) continue;
    if (row.fields.length > 1 || whole !== end) rows.push(row);
    row = { line, fields: [] };
  }
  return { rows };
}

/** Matches a field, quoted or plain, and what ends it. Inside quotes, a quote is escaped by doubling it. */
function fieldPattern(delimiter) {
  const end = delimiter === "|" ? "\\|" : delimiter;
  return new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^"${end}\r\n][^${end}\r\n]*|))(${end}|\r\n|\n|\r|$)`, "y");
}
