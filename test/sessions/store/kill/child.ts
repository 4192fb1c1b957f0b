/**
 * Writes the script to a file, and a line to standard output after each write. After so many writes it stands still, if
 * it is told how many.
 */
import { writeSync } from "node:fs";
import { SqliteSessionStore } from "../../../../src/sessions/store/sqlite-store.ts";
import { SCRIPT } from "./script.ts";

const [, , file = "", count = ""] = process.argv;
const store = new SqliteSessionStore(file);
for (const [index, { write }] of SCRIPT.entries()) {
  if (String(index) === count) break;
  await write(store);
  writeSync(1, `${index}\n`);
}
writeSync(1, "still\n");
setInterval(() => {}, 1_000);
