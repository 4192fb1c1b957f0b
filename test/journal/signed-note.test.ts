import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
// Inside: signs checkpoints with sizes and digests of its own, and cuts them off.
import { parseCheckpoints, signCheckpoint } from "../../src/journal/checkpoints/checkpoint.ts";
import {
  checkNote,
  createJournalKeys,
  parseNote,
  readSigningKey,
  readVerifierKey,
  signNote,
} from "../../src/journal/checkpoints/signed-note.ts";

/** The keys and the note of the documentation of golang.org/x/mod/sumdb/note. */
const GO = {
  signer: "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz",
  verifier: "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
  text: "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n",
  signature:
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=",
};

describe("A signed note", () => {
  test("of Go's package is read and signed in the same way", () => {
    const note = `${GO.text}\n${GO.signature}\n`;
    expect(signNote(GO.text, readSigningKey(GO.signer))).toBe(note);
    expect(readSigningKey(GO.signer).verifier).toBe(GO.verifier);
    const parsed = parseNote(note);
    expect(parsed && checkNote(parsed, [readVerifierKey(GO.verifier)])).toBe("signed");
  });

  test("is forged if its text was changed, and of another key if none that is trusted signed it", () => {
    const keys = createJournalKeys("example.com/a");
    const other = createJournalKeys("example.com/a");
    const note = signNote("one\n", readSigningKey(keys.signer));
    const changed = parseNote(note.replace("one", "two"));
    const same = parseNote(note);
    expect(changed && checkNote(changed, [readVerifierKey(keys.verifier)])).toBe("forged");
    expect(same && checkNote(same, [readVerifierKey(other.verifier)])).toBe("other");
    expect(same && checkNote(same, [readVerifierKey(other.verifier), readVerifierKey(keys.verifier)])).toBe(
      "signed",
    );
  });

  test.each([
    "",
    "text\n",
    "text\n\n",
    "text\n\nno signature\n",
    "text\n\n— name !\n",
    "text\n\n— name AAAA\n",
  ])("is not %j", (text) => {
    expect(parseNote(text)).toBeUndefined();
  });
});

describe("A key", () => {
  test("has the form of its kind", () => {
    const { signer, verifier } = createJournalKeys("example.com/journal");
    expect(() => readSigningKey(verifier)).toThrow(TypeError);
    expect(() => readVerifierKey(signer)).toThrow(TypeError);
    expect(() => readVerifierKey(verifier.replace("example", "other"))).toThrow(TypeError);
    const { publicKey } = generateKeyPairSync("ed25519");
    expect(() =>
      readSigningKey(String(createPublicKey(publicKey.export({ type: "spki", format: "pem" })))),
    ).toThrow();
  });

  test.each(["", "a b", "a+b", "a\n", "a".repeat(257)])("is not named %j", (name) => {
    expect(() => createJournalKeys(name)).toThrow(TypeError);
  });
});

describe("Checkpoints", () => {
  const key = readSigningKey(createJournalKeys("example.com/journal").signer);
  const one = signCheckpoint(1_000, "ab".repeat(32), key);
  const two = signCheckpoint(2_000, "cd".repeat(32), key);

  test("have three lines and a signature", () => {
    expect(one).toMatch(/^example\.com\/journal\n1000\n[A-Za-z0-9+/]{43}=\n\n— example\.com\/journal \S+\n$/);
  });

  test("are read one after the other, up to one that is not complete", () => {
    const { checkpoints, rest } = parseCheckpoints(`${one}\n${two}${one.slice(0, 70)}`);
    expect(checkpoints.map(({ records, digest }) => [records, digest])).toEqual([
      [1_000, "ab".repeat(32)],
      [2_000, "cd".repeat(32)],
    ]);
    expect(rest).toBe(one.slice(0, 70));
  });
});
