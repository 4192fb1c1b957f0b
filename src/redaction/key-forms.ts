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
  // A short one is told from data that begin with zeros, and from names, by what comes up to its first digit.
  "facebook-token": ["EAA[A-Za-z0-9]{100,}", "EAA[B-Z][B-Za-z]{0,30}\\d[A-Za-z0-9]{30,99}"],
  "firebase-key": ["AAAA[\\w-]{7}:APA91b[\\w-]{130,}"],
  "twitter-token": ["AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%]{60,}"],
  // Anthropic, OpenAI, OpenRouter, DeepSeek and others.
  "api-key": ["sk-[\\w-]{16,}"],
};

const NAMED = Object.entries(KEY_FORMS).map(
  ([name, sources]) => [name, new RegExp(`^(?:${sources.join("|")})$`)] as const,
);

/** Matches all of these keys, where none of the characters before can belong to one. Global. */
export const KEY_PATTERN: RegExp = new RegExp(
  `(?<![A-Za-z0-9_-])(?=[\\w.~$:/+-]{15})(?:${Object.values(KEY_FORMS).flat().join("|")})`,
  "g",
);

/** What each of these keys begins with. */
export const KEY_CLUE: RegExp = /(?<![A-Za-z0-9_-])[\w.~$:/+-]{15}/;

/** Returns the name of a key that {@link KEY_PATTERN} has matched. */
export function keyName(found: string): string {
  return NAMED.find(([, pattern]) => pattern.test(found))?.[0] ?? "api-key";
}
