/**
 * Records the commands of README in a terminal of its own, and draws them: `node scripts/recording.ts`, after `npm run build`. Writes
 * docs/recording.cast (asciicast v2, for `asciinema play`) and docs/recording.svg. Needs `script` of util-linux, which gives the
 * commands a terminal. Waits are cut, and what is typed takes the time of a person; the rest is what the commands print.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const COLUMNS = 96;
const ROWS = 26;
const TYPING_S = 0.045;
const MAX_WAIT_S = 0.5;

const FILES = {
  "sandgate.yaml": `tools:
  - name: send_mail
    description: Sends a mail.
    sideEffects: network
    inputSchema:
      type: object
      properties: { to: { type: string }, text: { type: string } }
      required: [to, text]
    quickjs: { source: "export default ({ to }) => \`sent to \${to}\`" }
policy:
  rules:
    - name: mails to the team
      tools: [send_mail]
      when: { /to: { glob: "*@team.example" } }
      effect: allow
      sandboxes: [quickjs]
    - name: mails to others
      tools: [send_mail]
      when: { /to: { not: { glob: "*@team.example" } } }
      effect: ask
      question: Send this mail to somebody outside?
      sandboxes: [quickjs]
journal: { directory: journal }
`,
  "message.json": `[{ "id": "call_1", "name": "send_mail",
   "arguments": { "to": "ann@example.com", "text": "The release is out." } }]
`,
};

/** A command, what a person answers, and how long one reads what it printed. */
interface Step {
  readonly command: string;
  readonly answer?: string;
  readonly readS: number;
}

const STEPS: readonly Step[] = [
  { command: "# A tool that an agent can call, and a policy: mails to others are asked about", readS: 1 },
  { command: "cat sandgate.yaml", readS: 12 },
  { command: "# A message of the agent", readS: 1 },
  { command: "cat message.json", readS: 5 },
  { command: "sandgate dispatch message.json --confirm", answer: "y", readS: 7 },
  { command: "# Later: why was this call allowed?", readS: 1 },
  { command: "sandgate why call_1", readS: 14 },
];

/** What appeared, and when, in seconds. */
type Event = readonly [seconds: number, text: string];

/** Runs the steps, and returns what a terminal shows. */
async function record(
  folder: string,
): Promise<{ readonly events: readonly Event[]; readonly seconds: number }> {
  const events: Event[] = [];
  let now = 0;
  const show = (text: string, after: number): void => {
    now += after;
    events.push([now, text]);
  };
  const type = (text: string): void => {
    for (const character of text) show(character, TYPING_S);
    show("\r\n", 4 * TYPING_S);
  };
  for (const { command, answer, readS } of STEPS) {
    show("$ ", MAX_WAIT_S);
    type(command);
    if (!command.startsWith("#")) await run(command, answer, folder, show, type);
    now += readS;
  }
  return { events, seconds: now };
}

async function run(
  command: string,
  answer: string | undefined,
  folder: string,
  show: (text: string, after: number) => void,
  type: (text: string) => void,
): Promise<void> {
  const shell = `stty -echo cols ${COLUMNS} rows ${ROWS}; ${command}`;
  const path = [join(folder, "bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const child: ChildProcess = spawn("script", ["-qfec", shell, "/dev/null"], {
    cwd: folder,
    env: { ...process.env, PATH: path, TERM: "xterm-256color" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let last = performance.now();
  let isAnswered = answer === undefined;
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    const waited = (performance.now() - last) / 1_000;
    last = performance.now();
    show(text, Math.min(waited, MAX_WAIT_S));
    if (isAnswered || !text.trimEnd().endsWith("?")) return;
    isAnswered = true;
    show("", 4);
    type(answer ?? "");
    child.stdin?.write(`${answer}\n`);
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${command} ended with ${code}`);
}

/** A line of the terminal: its pieces by color, and when it is seen. */
interface Line {
  readonly pieces: { text: string; color: string | undefined }[];
  at: number;
  /** When its typed text begins and ends, if a person types it. */
  typed?: { from: number; to: number; column: number };
}

const COLORS: Readonly<Record<string, string>> = {
  "31": "#f38ba8",
  "32": "#a6e3a1",
  "33": "#f9e2af",
  "90": "#7f849c",
  "2": "#7f849c",
};

/** Lays the output out in lines that are cut at the terminal's width. Knows line ends and colors, and refuses anything else. */
function linesOf(events: readonly Event[]): readonly Line[] {
  const lines: Line[] = [{ pieces: [], at: 0 }];
  let color: string | undefined;
  let column = 0;
  const next = (at: number): void => {
    lines.push({ pieces: [], at });
    column = 0;
  };
  for (const [at, text] of events) {
    for (const [, sequence, end, plain = ""] of text.matchAll(
      /\u001b\[([\d;]*)m|(\r?\n)|([^\u001b\r\n]+|[\u001b\r])/g,
    )) {
      if (sequence !== undefined) color = COLORS[sequence];
      else if (end !== undefined) next(at);
      else if (plain === "\u001b") throw new Error("an escape sequence that is not drawn");
      else if (plain !== "\r")
        for (const character of plain) {
          if (column === COLUMNS) next(at);
          const line = lines.at(-1) as Line;
          if (line.pieces.length === 0) line.at = at;
          const piece = line.pieces.at(-1);
          if (piece !== undefined && piece.color === color) piece.text += character;
          else line.pieces.push({ text: character, color });
          // What comes later than the line's beginning, one by one, is typed.
          if (text.length === 1 && at > line.at) {
            line.typed ??= { from: at, to: at, column };
            line.typed.to = at;
          }
          column++;
        }
    }
  }
  return lines;
}

const [WIDTH, HEIGHT, PAD] = [8.4, 19, 14];

/** Draws the lines as an image that moves: each line appears at its time, typed text from left to right, and the view scrolls. */
function drawn(lines: readonly Line[], seconds: number): string {
  const percent = (at: number): string => `${((100 * at) / seconds).toFixed(2)}%`;
  const rules: string[] = [];
  const y = (index: number): number => PAD + HEIGHT * (index + 0.75);
  const drawnLines = lines.map(({ pieces, at, typed }, index) => {
    if (pieces.length === 0) return "";
    rules.push(`@keyframes l${index}{0%,${percent(at)}{opacity:0}${percent(at + 0.01)},to{opacity:1}}`);
    let column = 0;
    const spans = pieces.map(({ text, color }) => {
      const span = `<tspan x="${(PAD + column * WIDTH).toFixed(1)}"${color === undefined ? "" : ` fill="${color}"`}>${escaped(text)}</tspan>`;
      column += text.length;
      return span;
    });
    const style = `style="animation-name:l${index}"`;
    const line = `<text y="${y(index).toFixed(1)}" ${style}>${spans.join("")}</text>`;
    if (typed === undefined) return line;
    const count = column - typed.column;
    const [from, to] = [typed.column, column].map((step) => (PAD + step * WIDTH).toFixed(1));
    rules.push(
      `@keyframes t${index}{0%,${percent(typed.from)}{transform:translateX(${from}px);animation-timing-function:steps(${count})}${percent(typed.to)},to{transform:translateX(${to}px)}}`,
    );
    return `${line}<rect class="t" y="${(y(index) - 14).toFixed(1)}" width="100%" height="${HEIGHT}" style="animation-name:t${index}"/>`;
  });
  const scrolled = lines.flatMap(({ at, pieces }, index) =>
    index >= ROWS && pieces.length > 0
      ? [
          `${percent(at)}{transform:translateY(${-HEIGHT * (index - ROWS + 1)}px);animation-timing-function:step-end}`,
        ]
      : [],
  );
  const lastShift = -HEIGHT * Math.max(0, lines.findLastIndex(({ pieces }) => pieces.length > 0) - ROWS + 1);
  const width = Math.ceil(COLUMNS * WIDTH + 2 * PAD);
  const height = ROWS * HEIGHT + 2 * PAD;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A terminal: a config, a call that a person is asked about, the answer, and why it was allowed">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#cdd6f4;white-space:pre}
text,.t,.s{animation:${seconds.toFixed(1)}s linear infinite}
.b,.t{fill:#1e1e2e}.t{transform:translateX(${width}px)}
.s{animation-name:s}
@keyframes s{0%{transform:none;animation-timing-function:step-end}${scrolled.join("")}to{transform:translateY(${lastShift}px)}}
${rules.join("\n")}
@media (prefers-reduced-motion:reduce){text,.t,.s{animation:none}}
</style>
<rect class="b" width="100%" height="100%" rx="8"/>
<svg y="${PAD}" width="${width}" height="${ROWS * HEIGHT}" viewBox="0 ${PAD} ${width} ${ROWS * HEIGHT}"><g class="s">
${drawnLines.filter((line) => line !== "").join("\n")}
</g></svg>
</svg>
`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(" ", "\u00a0");
}

const folder = mkdtempSync(join(tmpdir(), "sandgate-recording-"));
try {
  mkdirSync(join(folder, "bin"));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  writeFileSync(
    join(folder, "bin/sandgate"),
    `#!/bin/sh\nexec node '${join(ROOT, "dist/cli/main.js")}' "$@"\n`,
  );
  chmodSync(join(folder, "bin/sandgate"), 0o755);
  const { events, seconds } = await record(folder);
  const header = { version: 2, width: COLUMNS, height: ROWS, title: "Sandgate: a call that is asked about" };
  const cast = [header, ...events.map(([at, text]) => [Number(at.toFixed(3)), "o", text])];
  writeFileSync(
    join(ROOT, "docs/recording.cast"),
    `${cast.map((line) => JSON.stringify(line)).join("\n")}\n`,
  );
  const svg = drawn(linesOf(events), seconds);
  writeFileSync(join(ROOT, "docs/recording.svg"), svg);
  console.log(`docs/recording.svg: ${seconds.toFixed(0)} s, ${Math.ceil(svg.length / 1_024)} KiB`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
