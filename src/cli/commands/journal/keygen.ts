import { writeFile } from "node:fs/promises";
import { createJournalKeys } from "../../../journal/checkpoints/signed-note.ts";
import { shown } from "../../../rendering/shown.ts";
import { UsageError } from "../../errors.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";

/** Options of `sandgate journal keygen`. */
interface KeygenOptions {
  /** The name of the key. */
  readonly keyName: string;
  /** The file of the signing key; that of the verifier key ends in `.pub`. */
  readonly out: string;
}

/** Creates the keys of a journal. It overwrites no files. */
export async function keygen({ keyName, out }: KeygenOptions, { stdout }: Terminal): Promise<ExitCode> {
  try {
    const { signer, verifier } = createJournalKeys(keyName);
    await writeFile(out, `${signer}\n`, { flag: "wx", mode: 0o600 });
    await writeFile(`${out}.pub`, `${verifier}\n`, { flag: "wx", mode: 0o644 });
  } catch (error) {
    throw new UsageError(shown`cannot create the keys: ${(error as Error).message}`);
  }
  await print(stdout, shown`${out} signs checkpoints: keep it secret. ${out}.pub verifies them.`);
  return EXIT_OK;
}
