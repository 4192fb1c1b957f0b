import {
  asStartFunctions,
  casesOf,
  type DeadlineCase,
  forever,
  type GuestCode,
  times,
  warmedUp,
} from "./deadline-case.ts";

const MIB = 2 ** 20;
const PAGE = 65_536;

/** The instructions on a memory of a size, by name. */
function onMemory(bytes: number): Record<string, string> {
  return {
    "memory.fill": `(memory.fill (i32.const 0) (i32.const 1) (i32.const ${bytes}))`,
    "memory.copy up": `(memory.copy (i32.const 1) (i32.const 0) (i32.const ${bytes - 1}))`,
    "memory.copy down": `(memory.copy (i32.const 0) (i32.const 1) (i32.const ${bytes - 1}))`,
  };
}

function sizeName(bytes: number): string {
  return bytes < MIB ? `${bytes / 1_024} KiB` : `${bytes / MIB} MiB`;
}

function memoryCases(bytes: number): readonly DeadlineCase[] {
  const guests: Record<string, GuestCode> = {};
  for (const [name, instruction] of Object.entries(onMemory(bytes))) {
    guests[`${name} of ${sizeName(bytes)} in a loop`] = { code: forever(instruction) };
    guests[`${name} of ${sizeName(bytes)}, 4,000 in a row`] = {
      code: `${times(4_000, instruction)} unreachable`,
    };
  }
  const memory = `(memory (export "memory") ${bytes / PAGE})`;
  return casesOf("bulk instructions", guests, { memoryBytes: bytes + MIB, variation: { memory } });
}

/** The function does 400 instructions of a length that its argument tells. */
function optimised(instruction: string): GuestCode {
  const length = "(local.get $length)";
  return {
    fields: `(func $bulk (param $on i32) (local $length i32)
      (local.set $length (i32.mul (local.get $on) (i32.const ${32 * MIB}))) ${times(400, instruction.replace("LENGTH", length))})`,
    code: warmedUp("$bulk").replace("5000000", "20000"),
  };
}

const TABLES = `(table $t 100000 funcref) (table $small 10 100000 funcref) (func $f)
  (elem $e func ${times(20_000, "$f ")}) (elem $g funcref ${times(1_000, "(ref.func $f) ")})`;

const ON_TABLES: Readonly<Record<string, string>> = {
  "table.fill": "(table.fill $t (i32.const 0) (ref.func $f) (i32.const 100000))",
  "table.copy up": "(table.copy $t $t (i32.const 1) (i32.const 0) (i32.const 99999))",
  "table.copy down": "(table.copy $t $t (i32.const 0) (i32.const 1) (i32.const 99999))",
  "table.init": "(table.init $t $e (i32.const 0) (i32.const 0) (i32.const 20000))",
  "table.init of expressions": "(table.init $t $g (i32.const 0) (i32.const 0) (i32.const 1000))",
  "table.grow": "(drop (table.grow $small (ref.null func) (i32.const 1)))",
  "table.grow by nothing": "(drop (table.grow $small (ref.null func) (i32.const 0)))",
};

function tableCases(): readonly DeadlineCase[] {
  const guests: Record<string, GuestCode> = {};
  for (const [name, instruction] of Object.entries(ON_TABLES)) {
    guests[`${name} in a loop`] = { fields: TABLES, code: forever(instruction) };
    guests[`${name}, 4,000 in a row`] = { fields: TABLES, code: `${times(4_000, instruction)} unreachable` };
  }
  return casesOf("bulk instructions", guests);
}

const INIT = casesOf(
  "bulk instructions",
  {
    "memory.init of 3 MiB in a loop": {
      fields: `(data $d "${times(3 * MIB, "a")}")`,
      code: forever(`(memory.init $d (i32.const 0) (i32.const 0) (i32.const ${3 * MIB}))`),
    },
    "memory.init of 3 MiB, 4,000 in a row": {
      fields: `(data $d "${times(3 * MIB, "a")}")`,
      code: `${times(4_000, `(memory.init $d (i32.const 0) (i32.const 0) (i32.const ${3 * MIB}))`)} unreachable`,
    },
  },
  { variation: { memory: '(memory (export "memory") 64)' } },
);

const OPTIMISED = casesOf(
  "bulk instructions",
  {
    "memory.fill, optimised": optimised("(memory.fill (i32.const 0) (i32.const 1) LENGTH)"),
    "memory.copy, optimised": optimised("(memory.copy (i32.const 0) (i32.const 1) LENGTH)"),
    "short memory.fills in a loop": {
      code: forever(times(400, "(memory.fill (i32.const 0) (i32.const 1) (i32.const 1024))")),
    },
  },
  { memoryBytes: 40 * MIB, variation: { memory: '(memory (export "memory") 528)' } },
);

const MEMORY = [PAGE, 32 * MIB, 1_023 * MIB].flatMap(memoryCases);

/** Components that do much with one instruction. */
export const BULK: readonly DeadlineCase[] = [
  ...MEMORY,
  ...tableCases(),
  ...INIT,
  ...OPTIMISED,
  ...asStartFunctions([...memoryCases(32 * MIB), ...tableCases().slice(0, 4), ...INIT.slice(0, 1)]),
];
