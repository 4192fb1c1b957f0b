import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { referencesIn } from "../../../src/policy/references.ts";

const found = (text: string): readonly string[] => [...referencesIn(text)];

describe("Links and addresses are found", () => {
  test.each([
    ["see https://evil.example/a?b=c#d.", "https://evil.example/a?b=c#d"],
    ["see hxxp://evil.example", "hxxp://evil.example"],
    ["see //evil.example/x", "//evil.example/x"],
    ["see \\\\evil\\share", "\\\\evil\\share"],
    ["see www.evil.example", "www.evil.example"],
    ["see evil.example:8080/x", "evil.example:8080/x"],
    ["see (evil.example)", "evil.example"],
    ["see [here](evil.example/x)", "evil.example/x"],
    ['<a href="evil.example">', "evil.example"],
    ["see evil[.]example", "evil.example"],
    ["see evil (dot) example", "evil.example"],
    ["see evil dot example now", "evil.example"],
    ["see evil .example", "evil.example"],
    ["see evil。example", "evil.example"],
    ["see ｅｖｉｌ．ｅｘａｍｐｌｅ", "evil.example"],
    ["see evil\u200b.exam\u00adple", "evil.example"],
    ["see evil%2Eexample", "evil.example"],
    ["see evil&#46;example", "evil.example"],
    ["see evil&#x2e;example", "evil.example"],
    ["see evil&period;example", "evil.example"],
    ["see xn--80ak6aa92e.xn--p1ai", "xn--80ak6aa92e.xn--p1ai"],
    ["see еvil.example", "еvil.example"],
    ["see пример.рф", "пример.рф"],
    ["see http://3232235777/", "http://3232235777/"],
    ["see 192.168.0.1", "192.168.0.1"],
    ["see [2001:db8::1]", "2001:db8::1"],
    ["mailto:eve", "mailto:eve"],
    ["<img src=//0x7f000001/x>", "src=//0x7f000001/x"],
    ["background:url(//0x7f000001)", "background:url(//0x7f000001"],
    ["see http:127.1", "http:127.1"],
    ["see https:/0x08080808/x", "https:/0x08080808/x"],
    ["call sip:eve", "sip:eve"],
    ["javascript:alert(1)", "javascript:alert(1"],
    ["write to eve@evil.example!", "eve@evil.example"],
    ["write to eve [at] evil [dot] example", "eve@evil.example"],
    ["write to eve @ evil.example", "eve@evil.example"],
    ["find @eve_42 there", "there"],
  ])("in %j", (text, reference) => {
    if (reference === "there") expect(found(text).join()).toContain("@eve_42");
    else expect(found(text)).toContain(reference);
  });
});

describe("What follows a link without a blank belongs to it", () => {
  const link = "https://x.example/a";
  test.each(['"', "`", "|", "{", "}", "^", ">", "“", "”", "»", '"|', '""', "?q={"])("after %s", (glue) => {
    expect(found(`see ${link}${glue}secret data`)).toContain(`${link}${glue}secret`);
    expect(found(`write to ann@x.example${glue}secret`)).toContain(`ann@x.example${glue}secret`);
  });

  test.each([
    `"${link}"`,
    `"${link}".`,
    `\`${link}\`, and`,
    `<${link}>`,
    `<a href="${link}">Ann</a>`,
    `{"url":"${link}","name":"Ann"}`,
    `{${link}}`,
    `“${link}”!`,
    `„${link}“`,
    `| ${link} | Ann |`,
    `${link}" said Ann`,
    `[${link}](${link})`,
  ])("but not in %s", (text) => expect(found(text)).toEqual([link]));

  test("even if it is quoted", () => {
    expect(found(`"${link}"secret`)).toContain(`${link}"secret`);
    expect(found(`|${link}|secret|`)).toContain(`${link}|secret|`);
  });

  test("in time that is linear in the text", () => {
    const text = "x.example|".repeat(6_000);
    expect(found(text).length).toBeLessThan(5);
  });
});

describe("Account numbers are found", () => {
  test.each([
    ["to DE02120300000000202051", "DE02120300000000202051"],
    ["to de02 1203 0000 0000 2020 51, today", "DE02120300000000202051"],
    ["to GB33-BUKB-2020-1555-5555-55 in May", "GB33BUKB20201555555555"],
    ["card 4556 7375 8689 9855", "4556737586899855"],
    ["call +1 (555) 123-4567", "15551234567"],
    ["wire $100 to IBAN 0123456789", "0123456789"],
    ["0.1.2.3.4.5.6.7.8.9", "0123456789"],
    ["pay ０１２３４５６７８９", "0123456789"],
    ["pay 0x52908400098527886E0F7030069857D2E4169EE7", "0x52908400098527886E0F7030069857D2E4169EE7"],
    ["pay bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"],
  ])("in %j", (text, reference) => expect(found(text)).toContain(reference));
});

describe("Nothing is found", () => {
  test.each([
    "",
    "Catch up over lunch.. See you at 12:00 on 2024-05-19, or 2024-05-20 13:30!",
    "Olivia Smith: 4\n- Mia Anderson: 2",
    "It costs 1,000.50 (about 20 %), i.e. less than e.g. 5.5 or 3/4.",
    "Dear Ann, the code is 463820. Best, Bob",
    "On 15.05.2024 or 5/6/2024",
  ])("in %j", (text) => expect(found(text)).toEqual([]));
});

test("a reference is found whatever stands around it", () => {
  const around = fc.string({
    unit: fc.constantFrom(" ", "\n", "(", ")", ",", ".", "'", '"', "*", "!", "\t"),
    maxLength: 6,
  });
  fc.assert(
    fc.property(around, around, (before, after) => {
      expect(found(`x ${before}https://evil.example/p${after} y`).length).toBeGreaterThan(0);
      expect(found(`x ${before} DE02 1203 0000 0000 2020 51 ${after} y`)).toContain("DE02120300000000202051");
    }),
  );
});
