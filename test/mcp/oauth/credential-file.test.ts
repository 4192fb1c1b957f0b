import { chmod, mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
// Inside: changes the file, its mode and its folder between writing and reading; a login does both at once.
import { CredentialFile } from "../../../src/mcp/oauth/credential-file.ts";

const URL = "https://a.example/mcp";
const CREDENTIALS = {
  client: { client_id: "c", issuer: "https://b.example" },
  tokens: { access_token: "t", token_type: "Bearer", issuer: "https://b.example" },
};

async function newFile(): Promise<CredentialFile> {
  const directory = join(await mkdtemp(join(tmpdir(), "sandgate-credentials-")), "mcp");
  return new CredentialFile(directory, "s", URL);
}

test("credentials are read back, replaced as a whole, and deleted", async () => {
  const file = await newFile();
  expect(await file.read()).toEqual({});
  await file.write(CREDENTIALS);
  expect(await file.read()).toEqual(CREDENTIALS);
  await file.write({ client: CREDENTIALS.client });
  expect(await file.read()).toEqual({ client: CREDENTIALS.client });
  expect(await readdir(dirname(file.path))).toHaveLength(1);
  expect([await file.remove(), await file.remove(), await file.read()]).toEqual([true, false, {}]);
});

test.each<[string, (file: CredentialFile) => Promise<void>]>([
  ["a file that its group can read", ({ path }) => chmod(path, 0o640)],
  ["a directory that others can enter", ({ path }) => chmod(dirname(path), 0o701)],
])("%s is refused, and what to do is said", async (_, change) => {
  const file = await newFile();
  await file.write(CREDENTIALS);
  await change(file);
  await expect(file.read()).rejects.toThrow("open to other users: run 'chmod go-rwx'");
});

test("a directory that others can enter is not written to", async () => {
  const file = await newFile();
  await mkdir(dirname(file.path), { mode: 0o755 });
  await expect(file.write(CREDENTIALS)).rejects.toThrow("open to other users");
  expect(await readdir(dirname(file.path))).toEqual([]);
});

test.each<[string, (text: string) => string]>([
  ["of another server", (text) => text.replace(URL, "https://evil.example/mcp")],
  ["that is no JSON", () => "{"],
])("a file %s is refused", async (_, change) => {
  const file = await newFile();
  await file.write(CREDENTIALS);
  await writeFile(file.path, change(await readFile(file.path, "utf8")));
  await expect(file.read()).rejects.toThrow(`has no credentials for ${URL}`);
});

test("a link in place of the file is refused", async () => {
  const [file, other] = [await newFile(), await newFile()];
  await other.write(CREDENTIALS);
  await mkdir(dirname(file.path), { mode: 0o700 });
  await symlink(other.path, file.path);
  await expect(file.read()).rejects.toThrow("cannot be read: ELOOP");
});

test("credentials without an issuer are not used", async () => {
  const file = await newFile();
  await file.write({ tokens: { access_token: "t", token_type: "Bearer" } });
  expect(await file.read()).toEqual({});
});
