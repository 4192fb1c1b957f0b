import { expect, test } from "vitest";
import { copyJson } from "../../src/json/copy.ts";
import { Redaction } from "../../src/redaction/redaction.ts";

const redaction = new Redaction();

const SECRET = "hunter2hunter2";
const LINE = "aB3dE5fG7hJ9kL1m".repeat(4);
const HEX = "0123456789abcdef".repeat(4);
const KEY = ["-----BEGIN RSA PRIVATE KEY-----", LINE, LINE, "-----END RSA PRIVATE KEY-----"];
const keyAs = (each: (line: string, index: number) => string): string => KEY.map(each).join("\n");
const LOGIN = Buffer.from(`ada:${SECRET}`).toString("base64");

test.each([
  // Code in several languages.
  `:password => "${SECRET}"`,
  `'password' => '${SECRET}',`,
  `password := "${SECRET}"`,
  `if (password === "${SECRET}") {`,
  `let password: &str = "${SECRET}";`,
  `private readonly apiKey: string = '${SECRET}';`,
  `char password[] = "${SECRET}";`,
  `os.environ["API_KEY"] = "${SECRET}"`,
  `define('DB_PASSWORD', '${SECRET}');`,
  `os.environ.get("API_KEY", "${SECRET}")`,
  `password = """\n${SECRET}\n"""`,
  // Blocks of Terraform and its relatives.
  `variable "db_password" {\n  type    = string\n  default = "${SECRET}"\n}`,
  `variable "api_key" {\n  description = "A key."\n  validation {\n    condition = true\n  }\n  sensitive = true\n  default   = "${SECRET}"\n}`,
  `variable "db_password" { default = "${SECRET}" }`,
  `variable "tls_private_key" {\n  default = <<-EOT\n    ${SECRET}\n  EOT\n}`,
  `output "access_token" {\n  value = "${SECRET}"\n}`,
  // YAML, pairs, elements, forms.
  `password: |\n  ${SECRET}\nuser: ada`,
  `db:\n  password: >-\n    ${SECRET}\n    ${SECRET}\n  user: ada`,
  `- name: DB_PASSWORD\n  value: ${SECRET}`,
  `- name: "DB_PASSWORD"\n  value: "${SECRET}"`,
  `{\n  "name": "API_KEY",\n  "value": "${SECRET}"\n}`,
  JSON.stringify(JSON.stringify([{ name: "API_KEY", value: SECRET }])),
  `<add key="ApiKey" value="${SECRET}" />`,
  `Content-Disposition: form-data; name="password"\r\n\r\n${SECRET}\r\n--b`,
  // Commands and environments.
  `ENV API_KEY ${SECRET}`,
  `setx API_KEY ${SECRET}`,
  `set -x API_KEY ${SECRET}`,
  `curl -uada:${SECRET} https://a`,
  `mysql -uroot -p${SECRET} shop`,
  `redis-cli -h a -a ${SECRET} ping`,
  `docker login -u ada -p ${SECRET} registry.example`,
  `ldapsearch -D cn=ada -w ${SECRET}`,
  `openssl enc -pass pass:${SECRET}`,
  `sqlplus scott/${SECRET}@orcl`,
  `REDISCLI_AUTH=${SECRET}`,
  `SSHPASS=${SECRET}`,
  `GITHUB_PAT=${SECRET}`,
  `AWS_CREDENTIALS=${SECRET}`,
  `SECRET_KEY_BASE=${SECRET}`,
  `PresharedKey = ${SECRET}`,
  `DD_APP_KEY=${SECRET}`,
  `Ocp-Apim-Subscription-Key: ${SECRET}`,
  `X-Auth-Key: ${SECRET}`,
  // Addresses of databases and servers.
  `postgres://ada:a/${SECRET}@db:5432/shop`,
  `mongodb+srv://ada:a#${SECRET}@db/shop`,
  `smtp://ada@a.example:${SECRET}@smtp.a.example:587`,
  `jdbc:oracle:thin:scott/${SECRET}@//db:1521/x`,
  `root:${SECRET}@tcp(127.0.0.1:3306)/shop`,
  `CREATE USER ada IDENTIFIED BY ${SECRET};`,
])("a password is hidden where programs write it: %s", (text) => {
  expect(redaction.text(text)).not.toContain(SECRET);
});

test.each([
  ["with numbers of lines", keyAs((line, index) => `     ${index + 1}\t${line}`), LINE],
  ["in a difference", keyAs((line) => `-${line}`), LINE],
  ["of a search", keyAs((line, index) => `config/key.pem:${index + 1}:${line}`), LINE],
  ["in a quotation", keyAs((line) => `> ${line}`), LINE],
  ["in code", keyAs((line) => `  "${line}\\n" +`), LINE],
  ["in a block of YAML", `key: |\n${keyAs((line) => `    ${line}`)}`, LINE],
  ["of PuTTY", `Encryption: none\nPrivate-Lines: 2\n${LINE}\n${LINE}\nPrivate-MAC: 0`, LINE],
  ["in base64", `tls.key: ${Buffer.from(KEY.join("\n")).toString("base64")}`, "LS0tLS1CRUdJTi"],
  ["as a JSON Web Key", `{"kty":"EC","x":"AQAB","d":"${LINE}"}`, LINE],
  ["in a table of AWS", `AKIA${"IOSFODNN7EXAMPLE"},${LINE.slice(0, 40)}`, LINE.slice(0, 40)],
  ["in npm's settings", `//registry.example/:_auth=${LOGIN}`, LOGIN],
  ["of a bot, in an address", `https://a/bot123456789:AA${LINE.slice(0, 33)}/x`, LINE.slice(0, 33)],
  ["as a parameter of an address", `https://a/?key=${HEX}&x=1`, HEX],
  ["of Facebook, if it is short", `EAAC${LINE.slice(0, 44)}`, LINE.slice(0, 44)],
  ["of a password, as a digest", `$2b$12$${LINE.slice(0, 53)}`, LINE.slice(0, 53)],
])("a key is hidden %s", (_where, text, secret) => {
  const shown = redaction.text(text);
  expect(shown).not.toContain(secret);
  expect(shown).toMatch(/\[redacted: [\w-]+\]/);
});

test("a JSON Web Key and pairs in any case are known in values", () => {
  const value = copyJson({
    keys: [{ kty: "RSA", n: "public", d: "private" }],
    env: [{ Key: "DB_PASSWORD", Value: SECRET }],
  });
  expect(redaction.json(value)).toEqual({
    keys: [{ kty: "RSA", n: "public", d: "[redacted: private-key]" }],
    env: [{ Key: "DB_PASSWORD", Value: "[redacted: password]" }],
  });
  expect(redaction.json(copyJson({ d: "M0 0L1 1", k: "v" }))).toEqual({ d: "M0 0L1 1", k: "v" });
});

test("texts that nearly have such a place take no longer than their length", () => {
  for (const piece of [
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "-----BEGIN RSA PRIVATE KEY-----\n a\n",
    'password="""',
    "password: |\n  a\n",
    "password: a",
    "mysql -p ",
    "curl -u a ",
    "name: password\n",
    "name: password value",
    'f("password", ',
    "ENV password ",
    "$2b$12$",
    "postgres://a:b",
    "sqlplus a/",
    '"kty" "d": "a',
    "identified by ",
    "LS0tLS1CRUdJTi",
    'variable "password" { default ',
    'variable "password" { a {} ',
  ]) {
    const text = piece.repeat(200_000 / piece.length);
    expect(redaction.text(text).length).toBeLessThanOrEqual(text.length + 4_000_000);
  }
});

test("the places of pages, and whether credentials may be sent, stay in values", () => {
  const value = copyJson({
    nextPageToken: "CAUQAA",
    headers: { "Access-Control-Allow-Credentials": "true" },
  });
  expect(redaction.json(value)).toBe(value);
});

test.each([
  `commit ${HEX.slice(0, 40)}`,
  `sha256:${HEX}`,
  `"integrity": "sha512-${LINE}${LINE.slice(0, 22)}=="`,
  "123e4567-e89b-12d3-a456-426614174000",
  `data:image/png;base64,iVBORw0KGgo${LINE.repeat(4)}`,
  `-----BEGIN CERTIFICATE-----\n${LINE}\n-----END CERTIFICATE-----`,
  `tls.crt: ${Buffer.from("-----BEGIN CERTIFICATE-----\nMIIB").toString("base64")}`,
  `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${LINE.slice(0, 43)} ada@host`,
  `https://github.com/o/r/commit/${HEX.slice(0, 40)}`,
  '{"nextPageToken":"CAUQAA","next_token":"abc"}',
  "page_token=abc&continuation_token=def",
  '{"access-control-allow-credentials":"true"}',
  "if (token === undefined) return;",
  "const password = getPassword();",
  "login(user: string, password: string): void",
  'token = os.environ["TOKEN"]',
  "password=$PASSWORD",
  `password: $${"{{ secrets.PASSWORD }}"}`,
  'columns = ["password", "email"]',
  "http://localhost:8080/@scope/name and https://esm.sh/react@18",
  'variable "db_password" {\n  type = string\n  sensitive = true\n}\n\nvariable "region" {\n  default = "eu-central-1"\n}',
  'variable "db_password" {\n  default = null\n}',
  'variable "db_password" {\n  default = ""\n}\nname = "x"',
  'output "db_password" {\n  value = var.db_password\n}',
  "EAAAAAAAAABAAAAAAQAAAAIAAAAEAAAACAAAABAAAAAgAAAAQAAAAIAAAA",
  "EAAAccessTokensAreLongerThanTheNamesOfClassesInJava",
  "redis://cache:6379/0?x=a@b",
  "git@github.com:o/r.git ssh://git@github.com:22/o/r.git",
  "the cache key=fast and ?key=name",
])("an ordinary text stays: %s", (text) => {
  expect(redaction.text(text)).toBe(text);
  expect(redaction.json(copyJson({ output: text }))).toEqual({ output: text });
});
