import { expect, test } from "vitest";
// Inside: reads the words of a query, also of a million characters; a search shows only which tools it finds.
import { isQuestion, queryWordsOf, stem } from "../../../src/programs/catalogue/query-words.ts";

test.each([
  ["turn the lights off", "stop"],
  ["Turning off a machine", "stop"],
  ["look up a colleague", "search"],
  ["set up a webhook", "create"],
  ["throw it away", "delete"],
  ["get the money back", "refund"],
])("a verb and its other word mean one thing: %s", (query, word) => {
  expect(queryWordsOf(query)).toContain(stem(word));
});

test.each([
  "turn the big red old light off",
  "off turn",
  "a turnoff",
  "look at it",
  "",
])("but not if they do not belong together: %j", (query) => {
  for (const word of ["stop", "search"]) expect(queryWordsOf(query)).not.toContain(word);
});

test.each([
  ["show notes.txt", "file"],
  ["delete *.log", "file"],
  ["fetch https://example.org/a", "url"],
  ["write to ann@example.org", "email"],
  ["transfer €50", "money"],
  ["what is in ./src", "path"],
])("what is written in a form of its own is named: %s", (query, word) => {
  expect(queryWordsOf(query)).toContain(stem(word));
});

test("a version, a domain or the end of a sentence is not a file", () => {
  for (const query of ["release v1.2", "open example.com", "Read it. Then close it."]) {
    expect(queryWordsOf(query)).not.toContain("file");
  }
});

test("each word is there once, and the longest query takes no long time to read", () => {
  const words = queryWordsOf("create creating turn off, turn off");
  expect(new Set(words).size).toBe(words.length);
  expect(queryWordsOf("turn ".repeat(200_000)).length).toBe(1);
});

test("a question begins like one", () => {
  for (const query of ["What is this", "  is it", "any news", "anything new"])
    expect(isQuestion(query)).toBe(true);
  for (const query of ["whatever", "island", "list issues", ""]) expect(isQuestion(query)).toBe(false);
});
