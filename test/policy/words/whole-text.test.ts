import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { standsWhole } from "../../../src/policy/user-words.ts";

describe("A value stands whole in a text", () => {
  test.each([
    ["send it to ann@x.com", "ann@x.com"],
    ["send it to 'ann@x.com'.", "ann@x.com"],
    ["Ann (ann@x.com), Bob <bob@x.com>; and others", "bob@x.com"],
    ["is it www.x.com/a?", "www.x.com/a"],
    ["what is in Alice's inbox?", "Alice"],
    ["is this 'Alice’s'?", "Alice"],
    ["say 'yes', or 'no'", "no"],
    ["tell @bob in #general", "bob"],
    ["tell @bob in #general", "general"],
    ["the title is “Lunch with Sarah”!!", "Lunch with Sarah"],
    ["say: Hi, all! Now.", "Hi, all!"],
    ["move to *5 Mill Lane, Leeds*", "5 Mill Lane"],
    ["a\nnotes.txt\nb", "notes.txt"],
    ["joann@x.com and ann@x.com", "ann@x.com"],
  ])("in %j: %j", (text, value) => expect(standsWhole(text, value)).toBe(true));
});

describe("A value does not stand whole in a text", () => {
  test.each([
    ["send it to joann@x.com", "ann@x.com"],
    ["send it to ann@x.com.evil.example", "ann@x.com"],
    ["send it to ann@x.com/inbox", "ann@x.com"],
    ["send it to ann@x.com", "nn@x.com"],
    ["send it to ann@x.com", "ann@x.co"],
    ["send it to ann@x.com", "x.com"],
    ["send it to ann@x.com", "ann"],
    ["send it to ann+list@x.com", "list@x.com"],
    ["read .env", "env"],
    ["read /etc/passwd", "etc/passwd"],
    ["read notes.txt.bak", "notes.txt"],
    ["pay 1,000", "000"],
    ["pay 1,000", "1"],
    ["pay 10.50", "10"],
    ["use --force", "force"],
    ["call O'Brien", "Brien"],
    ["write to ann.o'brien@x.com", "ann.o"],
    ["write to 'ann'@x.com", "ann"],
    ["see https://x.com/it's-here", "https://x.com/it"],
    ["ask ann\u0301", "ann"],
    ["ask ann\u200bb", "ann"],
    ["ask аnn@x.com, with a Cyrillic a", "ann@x.com"],
    ["ask Ann@x.com", "ann@x.com"],
    ["ask ann@x.com", "ann@x.com\u200b"],
    ["ask ann@x.com", ""],
    ["ask ann@x.com................", "ann@x.com."],
    ["", "ann"],
  ])("in %j: %j", (text, value) => expect(standsWhole(text, value)).toBe(false));

  test("if letters or digits are beside it", () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z0-9@.-]{1,12}$/),
        fc.stringMatching(/^[a-zé0-9]$/),
        (value, letter) => {
          expect(standsWhole(`${letter}${value}`, value)).toBe(false);
          expect(standsWhole(`${value}${letter}`, value)).toBe(false);
        },
      ),
    );
  });
});
