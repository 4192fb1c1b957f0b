/** Foreign texts that would look like something else, or run, where they are shown without care. */
export const SPOOFS: readonly string[] = [
  // HTML, and addresses that run.
  "<img src=x onerror=globalThis.spoofed=1>",
  "<script>globalThis.spoofed = 1</script>",
  "<b>bold</b> &lt;i&gt; &#x202e;",
  "</pre></section><svg onload=globalThis.spoofed=1>",
  "<iframe srcdoc='<script>parent.spoofed=1</script>'></iframe>",
  "javascript:globalThis.spoofed=1",
  "https://evil.example/?a=b",
  '"><form action=https://evil.example/><button>Allow</button></form>',
  // Terminals.
  "\u001b[2J\u001b[H",
  "\u001b[31mred\u001b[0m \u0007",
  "\u001b]8;;https://evil.example/\u0007link\u001b]8;;\u0007",
  "\u009b31m \u0090q\u009c",
  "safe\b\b\b\brm",
  "allowed\rdenied",
  // Directions.
  ...["\u202a", "\u202b", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u061c", "\u200f"].map(
    (mark) => `pay ${mark}nuora\u202c\u2069 me`,
  ),
  // What cannot be seen.
  "a\u200bb\u200cc\u200dd\u2060e\ufeff",
  "s\u00adafe\u034f \u115f\u3164 \u180e",
  "ok\u{e0049}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065}\u{e007f}",
  "x\ufe00\ufe0f\u{e0100}",
  "\u2028line\u2029paragraph\u0085next",
  "\ue000\u{f0000} private",
  // What looks like something else.
  "p\u0430yp\u0430l",
  "ex\u0430mple.com\u2044login",
  "\uff41\uff42\uff43 full width",
  "z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a\u030b\u030c\u030d\u030e\u030f\u0310algo",
  // Lines and records that are not the tool's.
  "line\nAPPROVED by carol",
  '{"level":"info","msg":"approved"}\n',
  "⟦allowed by carol⟧",
  `${" ".repeat(500)}hidden far to the right`,
];
