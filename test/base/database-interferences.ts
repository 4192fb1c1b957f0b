import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";

/** What another process can do to the files of an SQLite database that is open. */
export const DATABASE_INTERFERENCES: readonly {
  readonly what: string;
  readonly act: (file: string) => void;
  /** What an open store says then. */
  readonly problem: RegExp;
  /** Whether what it put there is still there once the store is closed. Default: it put nothing there. */
  readonly stays?: (file: string) => boolean;
}[] = [
  { what: "its file was removed", act: (file) => rmSync(file), problem: /removed or renamed/ },
  {
    what: "its file was renamed",
    act: (file) => renameSync(file, `${file}.old`),
    problem: /removed or renamed/,
  },
  {
    what: "its file was replaced by a copy",
    act: (file) => {
      copyFileSync(file, `${file}.copy`);
      renameSync(`${file}.copy`, file);
    },
    problem: /replaced by another file/,
  },
  {
    what: "its file was replaced by a link to a copy",
    act: (file) => {
      renameSync(file, `${file}.old`);
      copyFileSync(`${file}.old`, `${file}.copy`);
      symlinkSync(`${file}.copy`, file);
    },
    problem: /replaced by another file/,
  },
  {
    what: "its file was replaced by a folder",
    act: (file) => {
      rmSync(file);
      mkdirSync(file);
    },
    problem: /replaced by another file/,
  },
  { what: "its file was made read-only", act: (file) => chmodSync(file, 0o400), problem: /read-only/ },
  { what: "its file was cut", act: (file) => truncateSync(file), problem: /cut to 0 bytes/ },
  {
    what: "its log was removed",
    act: (file) => rmSync(`${file}-wal`),
    problem: /-wal' was removed or renamed/,
  },
  {
    what: "its log was replaced",
    act: (file) => {
      rmSync(`${file}-wal`);
      writeFileSync(`${file}-wal`, "another log");
    },
    problem: /-wal' was replaced by another file/,
    stays: (file) => readFileSync(`${file}-wal`, "utf8") === "another log",
  },
];
