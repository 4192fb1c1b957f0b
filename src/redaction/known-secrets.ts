const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/**
 * Keys and tokens that begin as their issuer says, as regular expressions by the names that are shown in their place. The forms
 * are those that the issuers document for scanners of secrets, as in https://docs.github.com/code-security/reference/secret-security/supported-secret-scanning-patterns
 * and in the documentation of each issuer. Each takes a bounded number of steps before its last part.
 */
export const KEY_FORMS: Readonly<Record<string, readonly string[]>> = {
  "github-token": ["gh[pousr]_[A-Za-z0-9]{16,}", "github_pat_\\w{16,}"],
  "gitlab-token": ["gl(?:pat|ptt|dt|rt|rtr|cbt|ft|oas|soat|imt|agent|ffct|wt)-[\\w.-]{20,}"],
  "aws-key": ["A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])", "ABSK[A-Za-z0-9+/]{60,}={0,2}"],
  "google-key": ["AIza[\\w-]{35}", "GOCSPX-[\\w-]{20,}", "ya29\\.[\\w-]{20,}", "1//0[\\w-]{30,}"],
  "azure-key": ["[A-Za-z0-9_~.-]{3}\\dQ~[A-Za-z0-9_~.-]{31,34}"],
  "stripe-key": ["[rs]k_(?:live|test|org)_[A-Za-z0-9]{10,}", "whsec_[A-Za-z0-9+/]{24,}={0,2}"],
  "slack-token": [
    "xox[a-z]-[A-Za-z0-9-]{10,}",
    "xox[a-z]\\.xox[a-z]-[A-Za-z0-9-]{10,}",
    "xapp-[A-Za-z0-9-]{10,}",
  ],
  "npm-token": ["npm_[A-Za-z0-9]{36}"],
  "pypi-token": ["pypi-AgE[\\w-]{32,}"],
  "rubygems-key": ["rubygems_[0-9a-f]{48}"],
  "crates-token": ["cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"],
  "nuget-key": ["oy2[a-z0-9]{43}(?![a-z0-9])"],
  "docker-token": ["dckr_(?:pat|oat)_[\\w-]{20,}"],
  "huggingface-token": ["hf_[A-Za-z0-9]{30,}", "api_org_[A-Za-z0-9]{30,}"],
  "sendgrid-key": ["SG\\.[\\w-]{16,32}\\.[\\w-]{16,64}"],
  "twilio-key": ["SK[0-9a-f]{32}(?![0-9a-f])"],
  "mailgun-key": ["key-[0-9a-f]{32}(?![0-9a-f])"],
  "mailchimp-key": ["[0-9a-f]{32}-us[0-9]{1,2}(?![0-9])"],
  "brevo-key": ["x(?:keysib|smtpsib)-[0-9a-f]{64}-[A-Za-z0-9]{16}"],
  "resend-key": ["re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"],
  "shopify-token": ["shp(?:at|ca|pa|ss|ua|tka)_[0-9a-fA-F]{32}"],
  "square-token": ["sq0[a-z]{3}-[\\w-]{22,}"],
  "paypal-token": ["access_token\\$(?:production|sandbox)\\$[0-9a-z]{16}\\$[0-9a-f]{32}"],
  "digitalocean-token": ["do[opr]_v1_[0-9a-f]{64}"],
  "cloudflare-token": ["v1\\.0-[0-9a-f]{24}-[0-9a-f]{146}", "cf(?:k|ut|at)_[A-Za-z0-9]{40,}"],
  "heroku-key": ["HRKU-[\\w-]{36,}"],
  "vercel-token": ["vc[apikr]_[A-Za-z0-9]{24,}"],
  "netlify-token": ["nf[pcou]_[A-Za-z0-9]{36,}"],
  "fly-token": ["fm[12][ar]?_[A-Za-z0-9+/]{40,}={0,2}", "fo1_[\\w-]{40,}"],
  "supabase-key": ["sbp_[0-9a-f]{40}", "sb_secret_[\\w-]{20,}"],
  "planetscale-token": ["pscale_(?:tkn|pw|oauth)_[\\w.-]{32,}"],
  "databricks-token": ["dapi[0-9a-f]{32}(?:-[0-9]{1,2})?"],
  "vault-token": ["hv[sbr]\\.[\\w-]{20,}"],
  "terraform-token": ["[A-Za-z0-9]{14}\\.atlasv1\\.[\\w-]{60,}"],
  "pulumi-token": ["pul-[0-9a-f]{40}"],
  "doppler-token": ["dp\\.(?:pt|st|ct|sa|scim|audit)\\.[\\w.-]{40,}"],
  "1password-token": [
    "ops_eyJ[\\w-]{40,}",
    "A3-[A-Z0-9]{6}-[A-Z0-9]{6,11}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
  ],
  "age-key": ["AGE-SECRET-KEY-1[A-Z0-9]{58}"],
  "atlassian-token": ["AT[A-Z]TT3[\\w-]{40,}(?:=[0-9A-F]{8})?", "ATBB[A-Za-z0-9]{28,}"],
  "linear-key": ["lin_(?:api|oauth)_[A-Za-z0-9]{32,}"],
  "notion-token": ["ntn_[A-Za-z0-9]{40,}", "secret_[A-Za-z0-9]{43}"],
  "airtable-token": ["pat[A-Za-z0-9]{14}\\.[0-9a-f]{64}"],
  "figma-token": ["fig[a-z]{1,2}_[\\w-]{20,}"],
  "dropbox-token": ["sl\\.[\\w-]{60,}"],
  "postman-key": ["PMAK-[0-9a-f]{24}-[0-9a-f]{34}"],
  "telegram-token": ["(?:bot)?[0-9]{8,10}:AA[\\w-]{33}(?![\\w-])"],
  "discord-token": ["[MNO][A-Za-z0-9_-]{23,27}\\.[\\w-]{6}\\.[\\w-]{27,}"],
  "new-relic-key": ["NR(?:AK|JS|II|IQ)-[A-Za-z0-9_-]{19,}"],
  "sentry-token": ["sntry[su]_[\\w+/-]{40,}={0,2}"],
  "grafana-token": ["gl(?:sa|c)_[\\w+/-]{32,}={0,2}"],
  "dynatrace-token": ["dt0[a-z][0-9]{2}\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}"],
  "langsmith-key": ["lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"],
  "groq-key": ["gsk_[A-Za-z0-9]{40,}"],
  "xai-key": ["xai-[A-Za-z0-9]{60,}"],
  "perplexity-key": ["pplx-[A-Za-z0-9]{40,}"],
  "replicate-token": ["r8_[A-Za-z0-9]{37}"],
  "tavily-key": ["tvly-(?:[a-z]{2,8}-)?[A-Za-z0-9]{20,}"],
  "pinecone-key": ["pcsk_[A-Za-z0-9_]{40,}"],
  "elevenlabs-key": ["sk_[0-9a-f]{48}"],
  "alibaba-key": ["LTAI[A-Za-z0-9]{12,}"],
  "fireworks-key": ["fw_[A-Za-z0-9]{22,}"],
  "together-key": ["tgp_v1_[\\w-]{40,}"],
  "cerebras-key": ["csk-[a-z0-9]{40,}"],
  "nvidia-key": ["nvapi-[\\w-]{40,}"],
  "jina-key": ["jina_[A-Za-z0-9]{40,}"],
  "voyage-key": ["pa-[\\w-]{43}(?![\\w-])"],
  "firecrawl-key": ["fc-[0-9a-f]{32}(?![0-9a-f])"],
  "bedrock-key": ["bedrock-api-key-[A-Za-z0-9+/]{40,}={0,2}"],
  "yandex-key": ["AQVN[\\w-]{35,38}", "t1\\.[\\w-]{20,}={0,2}\\.[\\w-]{86}={0,2}"],
  "posthog-key": ["phx_[A-Za-z0-9]{40,}"],
  "launchdarkly-key": [`(?:sdk|api)-${UUID}`],
  "buildkite-token": ["bk(?:ua|ct|aa|at)_[A-Za-z0-9]{40,}"],
  "circleci-token": ["CCI(?:PAT|PRJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}"],
  "jfrog-key": ["AKCp[A-Za-z0-9]{20,}", "cmVmdGtuOjAxOj[A-Za-z0-9]{20,}"],
  "sonar-token": ["sq[uap]_[0-9a-f]{40}"],
  "contentful-token": ["CFPAT-[\\w-]{43}"],
  "hubspot-token": [`pat-(?:na|eu|ap)[0-9]-${UUID}`],
  "asana-token": ["[12]/[0-9]{10,20}(?:/[0-9]{10,20})?:[0-9a-f]{32}"],
  "shippo-token": ["shippo_(?:live|test)_[0-9a-f]{40}"],
  "easypost-key": ["EZ[AT]K[A-Za-z0-9]{54}"],
  "flutterwave-key": ["FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"],
  "razorpay-key": ["rzp_(?:live|test)_[A-Za-z0-9]{14,}"],
  "plaid-token": [`access-(?:sandbox|development|production)-${UUID}`],
  "duffel-token": ["duffel_(?:live|test)_[\\w-]{43}"],
  "typeform-token": ["tfp_[\\w.-]{40,}"],
  "readme-key": ["rdme_[a-z0-9]{70}"],
  "scalingo-token": ["tk-us-[\\w-]{48}"],
  "prefect-key": ["pn[ub]_[A-Za-z0-9]{36}"],
  "infracost-key": ["ico-[A-Za-z0-9]{32}"],
  "octopus-key": ["API-[A-Z0-9]{26}(?![A-Z0-9])"],
  "openshift-token": ["sha256~[\\w-]{43}"],
  "tailscale-key": ["tskey-[a-z]{2,10}-[\\w-]{16,}"],
  "clojars-token": ["CLOJARS_[0-9a-f]{60}"],
  "deno-token": ["dd[pow]_[A-Za-z0-9]{36}"],
  "val-town-token": ["vtwn_[A-Za-z0-9]{24,}"],
  "render-key": ["rnd_[A-Za-z0-9]{28,}"],
  "neon-key": ["napi_[a-z0-9]{60,}", "napi_[A-Za-z0-9]{60,}"],
  "harness-token": ["[ps]at\\.[\\w-]{22}\\.[0-9a-f]{24}\\.[A-Za-z0-9]{20}"],
  "azure-devops-token": ["[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}", "[A-Za-z0-9]{76}JQQJ99[A-Za-z0-9]{4,}"],
  "mapbox-token": ["sk\\.eyJ[\\w-]{8,}\\.[\\w-]{16,}"],
  "frameio-token": ["fio-u-[\\w-]{64}"],
  "linkedin-secret": ["WPL_AP[01]\\.[A-Za-z0-9.]{12,}={0,2}"],
  // Short ones are recognised by the characters up to the first digit, unlike data that begin with zeros, and names.
  "facebook-token": ["EAA[A-Za-z0-9]{100,}", "EAA[B-Z][B-Za-z]{0,30}\\d[A-Za-z0-9]{30,99}"],
  "firebase-key": ["AAAA[\\w-]{7}:APA91b[\\w-]{130,}"],
  "twitter-token": ["AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%]{60,}"],
  // Anthropic, OpenAI, OpenRouter, DeepSeek and others.
  "api-key": ["sk-[\\w-]{16,}"],
};

const NAMED = Object.entries(KEY_FORMS).map(
  ([name, sources]) => [name, new RegExp(`^(?:${sources.join("|")})$`)] as const,
);

/** Matches all of these keys, not preceded by a character that can belong to one. Global. */
const KEY_PATTERN: RegExp = new RegExp(
  `(?<![A-Za-z0-9_-])(?=[\\w.~$:/+-]{15})(?:${Object.values(KEY_FORMS).flat().join("|")})`,
  "g",
);

/** What each of these keys begins with. */
const KEY_CLUE: RegExp = /(?<![A-Za-z0-9_-])[\w.~$:/+-]{15}/;

/** A kind of secret that is known by its form. */
export interface SecretForm {
  /** Its name in `[redacted: NAME]`; `undefined` if what was found is no secret. */
  readonly nameOf: (found: string) => string | undefined;
  /**
   * Matches in linear time: a match starts only where the characters before cannot belong to it, so that no part of a
   * text is examined more than a few times. It matches bounded alphabets only, so that nothing else hides in it.
   */
  readonly pattern: RegExp;
  /** What every match has, or has beside it: a text without it need not be searched. */
  readonly clue: RegExp;
}

function form(name: string, clue: RegExp, pattern: RegExp): SecretForm {
  return { nameOf: () => name, clue, pattern };
}

/** The name of a header or member, up to its value, in a text that may be JSON within JSON: before it stands `Name: `. */
const after = (name: string): string =>
  String.raw`(?<=(?<![A-Za-z0-9])${name}(?:\\{0,7}["'])?[ \t]{0,4}[:=][ \t]{0,4}(?:\\{0,7}["'])?)`;

/** The schemes of https://www.iana.org/assignments/http-authschemes, and others in use. */
const SCHEMES =
  "Basic|Bearer|Concealed|Digest|DPoP|GNAP|HOBA|Mutual|Negotiate|OAuth|PrivateToken|SCRAM-SHA-(?:1|256)|vapid|Token|ApiKey|Key|AWS|AWS4-HMAC-SHA256|Hawk|NTLM|SharedKey|SharedAccessSignature|Signature|Splunk|SSWS";

/** A scheme with its token or its parameters (RFC 9110, section 11.4). */
const CREDENTIALS = new RegExp(
  after("authorization") +
    String.raw`[A-Za-z][\w-]{0,31}[ \t]{1,8}(?:(?:[\w-]{1,64}=(?:\\{0,7}"[^"\n]{0,1024}"|[^\s,;"']{1,1024})(?:[,;][ \t]{0,8})?){1,32}|[^\s"',;\\]{1,8192})`,
  "gi",
);

/** The same with a token of one word. */
const NARROW_CREDENTIALS = new RegExp(
  `${after("authorization")}(?:${SCHEMES})[ \\t]{1,8}[\\w.~+/=@%-]{1,4096}`,
  "gi",
);

const COOKIES = new RegExp(
  `${after("(?:set-)?cookie").replace("[:=]", ":")}(?=[^\\s;,"'\\\\=]{1,128}=)[^\\r\\n"'\\\\]{1,8192}`,
  "gi",
);

const KEY =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[\s\\nr]*(?:Proc-Type|DEK-Info|Version|Comment): ?[A-Za-z0-9., -]{1,80})*[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/g;

/**
 * Up to its end, with what programs write before and after each line: `key.pem:3:`, `-` of a difference, `> `, `"…\n" +`. A line
 * has at most 40 characters besides those of base64.
 */
const KEY_IN_LINES =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^\n]{0,16}\n(?:(?!-{0,4}-----)[^\n]{0,160}\n){1,200}?[^\n]{0,120}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;

/** A key in base64, as secrets of Kubernetes have it. */
const ENCODED_KEY = /(?<![A-Za-z0-9+/])LS0tLS1CRUdJTi[A-Za-z0-9+/]{24,}={0,2}/g;

/** The lines of a key of PuTTY. */
const PUTTY_KEY =
  /(?<=\bPrivate-Lines: \d{1,4}(?:\r?\n|\\n))(?:[A-Za-z0-9+/]{1,80}={0,2}(?:\r?\n|\\n|$)){1,200}/g;

/** The private members of a JSON Web Key in a text (RFC 7518, section 6). */
const WEB_KEY = /(?<="(?:d|p|q|dp|dq|qi|k)\\{0,7}"[ \t]{0,4}:[ \t]{0,4}\\{0,7}")[\w-]{20,8192}(?=\\{0,7}")/g;

/** Passwords with a slash or `#` are not in the addresses of the web, where those begin the path. */
const DATABASES =
  "postgres(?:ql)?|mysqlx?|mariadb|mongodb|rediss?|valkeys?|amqps?|smtps?|ftps?|sftp|ldaps?|mssql|sqlserver|oracle|clickhouse|cockroachdb|snowflake|nats|mqtts?|bolt|neo4j|cassandra|couchbases?|kafka|imaps?";

const WHOLE_KEY =
  /-----BEGIN (?:[A-Z]{1,12} )?PRIVATE KEY-----(?:\r?\n|\\n)(?:(?:Proc-Type|DEK-Info): ?[A-Za-z0-9,-]{1,80}(?:\r?\n|\\n)+)*(?:[A-Za-z0-9+/]{40,80}={0,2}(?:\r?\n|\\n))+(?:[A-Za-z0-9+/]{1,80}={0,2}(?:\r?\n|\\n))?-----END (?:[A-Z]{1,12} )?PRIVATE KEY-----/g;

/** Forms in which nothing but a secret is found. */
const ANYWHERE: readonly SecretForm[] = [
  form("jwt", /eyJ/, /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g),
  { nameOf: keyName, clue: KEY_CLUE, pattern: KEY_PATTERN },
  form("bearer-token", /earer/, /(?<![A-Za-z0-9])[Bb]earer[ \t]{1,8}[A-Za-z0-9._~+/=-]{8,}/g),
  {
    nameOf: (found) => (isBasic(found) ? "basic-credentials" : undefined),
    clue: /asic/,
    pattern: /(?<![A-Za-z0-9])[Bb]asic[ \t]{1,8}[A-Za-z0-9+/]{4,4096}={0,2}/g,
  },
  form("webhook", /hooks\.slack/, /(?<=hooks\.slack\.com\/(?:services|triggers|workflows)\/)[\w/]{20,}/g),
  form("webhook", /discord/, /(?<=discord(?:app)?\.com\/api\/webhooks\/\d{15,20}\/)[\w-]{40,}/g),
  form("webhook", /webhook/, /(?<=webhook\.office\.com\/webhookb2\/)[\w@/-]{40,}/g),
  form(
    "password-hash",
    /\$(?:[12356y]|apr1|argon|scrypt)[\w]{0,4}\$/,
    /\$(?:2[abxy]\$\d\d|[156y]|apr1|argon2(?:i|d|id)|scrypt)\$[\w./=,+-]{1,128}(?:\$[\w./=,+-]{8,128}){0,3}/g,
  ),
  form(
    "url-token",
    /[?&](?:key|auth|appid|code)=/i,
    /(?<=[?&](?:key|auth|appid|code)=)(?=[\w%.~-]{0,64}\d)[\w%+/=.~-]{20,}/gi,
  ),
  form("url-token", /:\/\//, /(?<=:\/\/)[\w-]{20,256}(?=@)/g),
  form(
    "signature",
    /[?&](?:sig|x-)/i,
    /(?<=[?&](?:sig|signature|x-amz-signature|x-goog-signature)=)[\w%+/=.~-]{16,}/gi,
  ),
];

/** The options of programs that take a password without saying so. */
const OPTIONS = [
  { program: "curl", option: String.raw`-u["']?[^\s:"']{1,128}:` },
  { program: "mysql\\w{0,16}|mariadb[\\w-]{0,16}|7z[ar]?", option: `-p["']?` },
  { program: "redis-cli|valkey-cli", option: String.raw`(?:-a|--pass)[ \t]{1,4}["']?` },
  { program: "ldap[a-z]{3,8}", option: String.raw`-w[ \t]{1,4}["']?` },
  { program: "(?:un)?zip", option: String.raw`-P[ \t]{0,4}["']?` },
  {
    program: String.raw`login\b[^\n|;&]{0,80}(?:[ \t]-u|[ \t]--username)`,
    option: String.raw`-p[ \t]{1,4}["']?`,
  },
] as const;

/** Secrets with a prefix or a form of their own. The expressions are global: use them with `replace` only. */
export const KNOWN_FORMS: readonly SecretForm[] = [
  form("private-key", /PRIVATE KEY/, KEY_IN_LINES),
  form("private-key", /PRIVATE KEY/, KEY),
  form("private-key", /Private-Lines/, PUTTY_KEY),
  form("private-key", /"kty\\{0,7}"/, WEB_KEY),
  {
    nameOf: (found) => (isKey(found) ? "private-key" : undefined),
    clue: /LS0tLS1CRUdJTi/,
    pattern: ENCODED_KEY,
  },
  form(
    "aws-key",
    /A[KS]IA/,
    /(?<=(?<![A-Z0-9])A[KS]IA[A-Z0-9]{16}[,;:\s"']{1,4})[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/])/g,
  ),
  form("authorization", /authorization/i, CREDENTIALS),
  form("cookie", /cookie/i, COOKIES),
  ...ANYWHERE,
  form("password", /:\/\//, /(?<=:\/\/[^\s/?#:"'<>]{0,128}:)[^\s/?#"'<>]{1,256}(?=@)/g),
  form(
    "password",
    /:\/\//,
    new RegExp(
      `(?<=(?:${DATABASES})(?:\\+\\w{1,8})?://[^\\s/?#:"'<>]{0,128}:)(?!\\d{1,5}[/?#])[^\\s"'<>]{1,256}(?=@)`,
      "gi",
    ),
  ),
  form("password", /@(?:tcp|unix)\(/, /(?<=\w:)[^\s:@"'/]{1,256}(?=@(?:tcp|unix)\()/g),
  form(
    "password",
    /oracle|sqlplus/,
    /(?<=(?:jdbc:oracle:\w{1,8}:|\bsqlplus[ \t]{1,4}(?:-\w{1,8}[ \t]{1,4}){0,4})[^\s/@"']{1,128}\/)[^\s@"']{1,256}(?=@)/g,
  ),
  form("password", /pwd=/i, /(?<=[;?&][ \t]{0,2}pwd=)[^\s;&"']{1,256}/gi),
  form(
    "password",
    /[ \t]-(?:u|-user|-proxy-user)[ \t=]/,
    /(?<=[ \t](?:-u|--user|--proxy-user)[ \t=]{1,4}["']?[^\s:"']{1,128}:)(?!\d+(?!\w))[^\s"']{1,256}/g,
  ),
  // A line of `.netrc`, and SQL.
  form(
    "password",
    /password[ \t]/,
    /(?<=(?:login|account)[ \t]{1,4}[^\s]{1,128}\s{1,4}password[ \t]{1,4})\S{1,256}/g,
  ),
  form(
    "password",
    /password|identified/i,
    /(?<=(?:password|identified by)[ \t]{1,4}')(?:[^'\n]|''){1,256}(?=')/gi,
  ),
  form(
    "password",
    /identified/i,
    /(?<=identified by[ \t]{1,4})(?!['"]|(?:values|external|globally|random|password)\b)[^\s;'"]{1,256}/gi,
  ),
  ...OPTIONS.map(({ program, option }) => {
    const before = String.raw`(?<=\b(?:${program})\b[^\n|;&]{0,200}[ \t]${option})`;
    return form("password", new RegExp(program), new RegExp(`${before}[^\\s"'|;&-][^\\s"'|;&]{0,255}`, "g"));
  }),
  form(
    "password",
    /pass:/,
    /(?<=[ \t]-{1,2}pass(?:in|out|word|phrase)?[ \t=]{1,4}["']?pass:)[^\s"']{1,256}/g,
  ),
  form("password", /sshpass/, /(?<=sshpass[ \t]{1,4}-p[ \t]{0,4}["']?)[^\s"']{1,256}/g),
  // The file in which Docker has its logins.
  {
    nameOf: (found) => (isBasic(`Basic ${found}`) ? "basic-credentials" : undefined),
    clue: /auth\\{0,7}"/,
    pattern: /(?<="auth\\{0,7}"[ \t]{0,4}:[ \t]{0,4}\\{0,7}")[A-Za-z0-9+/]{8,4096}={0,2}/g,
  },
];

/** What separates the name of a secret from its value, and what secrets have that need no separator. */
const CLUES = new RegExp(
  `[=:]|PRIVATE KEY|earer|asic|password|PASSWORD|IDENTIFIED|identified|sqlplus|setx |setenv|ENV |--?\\w|</|\\w\\(|\\$[1256ya]|${KEY_CLUE.source}`,
);

/**
 * Whether a text can match one of {@link KNOWN_FORMS}, or contain the name of a secret with a value. Many texts cannot, and
 * this takes a tenth of the time of trying.
 */
export function mayHoldSecret(text: string): boolean {
  return CLUES.test(text);
}

/**
 * Like {@link KNOWN_FORMS}, for texts in which nothing but a secret may be hidden: a key has whole lines of base64, and
 * its end; credentials and passwords are one word.
 */
export const NARROW_FORMS: readonly SecretForm[] = [
  form("private-key", /PRIVATE KEY/, WHOLE_KEY),
  form("authorization", /authorization/i, NARROW_CREDENTIALS),
  ...ANYWHERE,
  form("password", /:\/\//, /(?<=:\/\/[\w.~%-]{0,128}:)[\w.~+=%!*-]{1,256}(?=@)/g),
];

/** Whether these are `Basic` and a user's name and password in base64 (RFC 7617). */
function isBasic(found: string): boolean {
  const text = Buffer.from(found.replace(/^[^ \t]+[ \t]+/, ""), "base64").toString("latin1");
  return /^[^\p{Cc}]*:[^\p{Cc}]*$/u.test(text);
}

/** Whether this is a private key in base64, and no certificate. */
function isKey(found: string): boolean {
  return Buffer.from(found.slice(0, 80), "base64").toString("latin1").includes("PRIVATE KEY");
}

const WHOLE_TOKEN = new RegExp(`^(?:(?:${SCHEMES}) )?[\\w.~+/=@%-]{1,4096}$`);

/** Whether a text can only be a password or token of one word, and no command with arguments. */
export function isToken(text: string): boolean {
  return WHOLE_TOKEN.test(text);
}

/** Returns the name of a key that {@link KEY_PATTERN} has matched. */
function keyName(found: string): string {
  return NAMED.find(([, pattern]) => pattern.test(found))?.[0] ?? "api-key";
}
