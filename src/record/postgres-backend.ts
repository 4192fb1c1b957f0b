import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { freezeJson, type JsonValue } from "../json/value.ts";
import {
  type Batch,
  boundsOf,
  type Entry,
  keyText,
  type Range,
  RecordError,
  RecordOutcomeError,
  type SharedBackend,
} from "./backend.ts";
import {
  checkPostgresOptions,
  codeOf,
  connector,
  failureOf,
  isOfConnecting,
  isOfStatement,
  type PostgresClient,
  type PostgresOptions,
  textOf,
} from "./postgres-connection.ts";
import { BYTES, migrate, ownersOf, valueText, writtenBatch } from "./postgres-schema.ts";

/** Maximum number of batches that are written together, and of characters of their values. */
const MAX_BATCHES = 64;
const MAX_LENGTH = 16_000_000;
/** How long a statement may take before its connection counts as lost, in ms. */
const LONGEST_MS = 30_000;
/** How often a read is tried whose connection was lost. */
const MAX_READS = 3;
/** How many connections read. */
const READERS = 4;
const MAX_PAUSE_MS = 1_000;
/** Milliseconds between attempts to reach a database. */
const PROBE_MS = 100;
/** For how long the rows of members remain after they were seen for the last time. */
const FORGOTTEN_AFTER = "30 days";

type Rows = readonly Readonly<Record<string, unknown>>[];

interface QueuedBatch {
  readonly batch: Batch;
  readonly length: number;
  readonly resolve: (failed: number | undefined) => void;
  readonly reject: (error: RecordError) => void;
}

/** A store of entries in one schema of a PostgreSQL database. */
export class PostgresBackend implements SharedBackend {
  readonly member: string = randomUUID();
  readonly isSerial = false;
  readonly #schema: string;
  readonly #leaseMs: number;
  readonly #connect: (max: number) => PostgresClient;
  /** Writes one group of batches after the other. */
  #writing: PostgresClient;
  #reading: PostgresClient;
  readonly #listening: PostgresClient;
  readonly #waiting: QueuedBatch[] = [];
  #isWriting = false;
  #isResolving = false;
  #number = 0;
  readonly #listeners = new Set<readonly [range: Range, onChange: () => void]>();
  #problem: string | undefined;
  #skewMs = 0;
  #isClosed = false;
  #heartbeat: NodeJS.Timeout | undefined;

  /**
   * Connects to a database, and brings its schema to the current format.
   *
   * @throws {TypeError} if an option is invalid, and {@link RecordError} if the database cannot be used. Both are rejections.
   */
  static async open(options: PostgresOptions): Promise<PostgresBackend> {
    const settings = checkPostgresOptions(options);
    const connect = await connector(settings.url);
    const backend = new PostgresBackend(settings, connect);
    try {
      await backend.#start();
    } catch (error) {
      await backend.#end();
      throw failureOf(error);
    }
    return backend;
  }

  private constructor(
    { schema, leaseMs }: Required<PostgresOptions>,
    connect: (max: number) => PostgresClient,
  ) {
    this.#schema = schema;
    this.#leaseMs = leaseMs;
    this.#connect = connect;
    this.#writing = connect(1);
    this.#reading = connect(READERS);
    this.#listening = connect(1);
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  get skewMs(): number {
    return this.#skewMs;
  }

  async #start(): Promise<void> {
    await migrate(this.#writing, this.#schema);
    await this.#writing.unsafe(
      `DELETE FROM ${this.#schema}.members WHERE expires < clock_timestamp() - interval '${FORGOTTEN_AFTER}'`,
    );
    await this.#beat();
    // Notifications between a lost connection and the next one are lost, too.
    await this.#listening.listen(
      this.#schema,
      (scope) => this.#notify(scope),
      () => this.#notify(undefined),
    );
    this.#beatLater();
  }

  #beatLater(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#heartbeat);
    const delayMs = this.#problem === undefined ? this.#leaseMs / 5 : PROBE_MS;
    this.#heartbeat = setTimeout(() => {
      this.#beat()
        .then(
          () => {
            if (!this.#isResolving) this.#problem = undefined;
          },
          // Includes errors that only say that nothing can be written, as on a replica.
          (error: unknown) => this.#failWith(error),
        )
        .finally(() => {
          // The connection that listens can be dead without a sign of it.
          this.#notify(undefined);
          this.#beatLater();
        });
    }, delayMs).unref();
  }

  async #beat(): Promise<void> {
    const before = Date.now();
    const [row] = await this.#run(
      "reading",
      `INSERT INTO ${this.#schema}.members (id, expires) VALUES ($1, clock_timestamp() + $2::integer * interval '1 ms')
        ON CONFLICT (id) DO UPDATE SET expires = excluded.expires
        RETURNING extract(epoch FROM clock_timestamp()) * 1000 AS now`,
      [this.member, this.#leaseMs],
      this.#leaseMs / 2,
    );
    this.#skewMs = Math.round(Number(row?.["now"]) - (before + Date.now()) / 2);
  }

  async read(ranges: readonly Range[]): Promise<readonly (readonly Entry[])[]> {
    const bounds = ranges.map(boundsOf).map(({ from, to }) => [from, to]);
    const rows = await this.#read(`SELECT * FROM ${this.#schema}.read($1::text::jsonb)`, [
      JSON.stringify(bounds),
    ]);
    const entries: Entry[][] = ranges.map(() => []);
    for (const { range, value, version, created } of rows) {
      const entry = { value: readValue(value as string), version: Number(version), created: Number(created) };
      entries[range as number]?.push(entry);
    }
    return entries;
  }

  async members(): Promise<ReadonlySet<string>> {
    const rows = await this.#read(
      `SELECT id FROM ${this.#schema}.members WHERE expires > clock_timestamp()`,
      [],
    );
    return new Set(rows.map(({ id }) => id as string));
  }

  async #read(statement: string, values: readonly string[]): Promise<Rows> {
    for (let tried = 1; ; tried++) {
      this.#requireOpen();
      try {
        return await this.#run("reading", statement, values);
      } catch (error) {
        if (isOfStatement(error) || tried === MAX_READS || this.#problem !== undefined) {
          this.#fail(error);
          throw failureOf(error);
        }
        await sleep(50 * tried);
      }
    }
  }

  apply(batch: Batch): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      this.#requireOpen();
      if (this.#problem !== undefined) throw new RecordError(this.#problem);
      if (batch.checks.length + batch.writes.length === 0) return resolve(undefined);
      const length = batch.writes.reduce(
        (sum, write) => sum + ("value" in write ? valueText(write.value).length : 0),
        0,
      );
      this.#waiting.push({ batch, length, resolve, reject });
      if (!this.#isWriting) void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    // What is added in the same turn of the event loop is written together.
    await undefined;
    while (this.#waiting.length > 0) {
      const group = this.#next();
      try {
        const outcomes = await this.#writeGroup(group);
        for (const [index, { resolve }] of group.entries()) resolve(outcomes[index] ?? undefined);
      } catch (error) {
        for (const { reject } of group) reject(failureOf(error));
      }
    }
    this.#isWriting = false;
  }

  #next(): readonly QueuedBatch[] {
    let count = 0;
    let length = 0;
    for (const each of this.#waiting) {
      length += each.length;
      if (count === MAX_BATCHES || (count > 0 && length > MAX_LENGTH)) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  /** Writes batches together. Returns which check of each has failed; `null` for those that were written. */
  async #writeGroup(group: readonly QueuedBatch[]): Promise<readonly (number | null)[]> {
    const batches = group.map(({ batch }) => writtenBatch(batch));
    const owners = [...new Set(group.flatMap(({ batch }) => ownersOf(batch)))];
    const text = JSON.stringify(batches);
    for (;;) {
      this.#requireOpen();
      const number = ++this.#number;
      try {
        const [row] = await this.#run(
          "writing",
          `SELECT ${this.#schema}.apply($1, $2::bigint, $3::integer, $4::text::jsonb, $5::text::jsonb) AS outcome`,
          [this.member, number, this.#leaseMs, JSON.stringify(owners), text],
        );
        return JSON.parse(row?.["outcome"] as string) as (number | null)[];
      } catch (error) {
        if (isOfStatement(error) || isOfConnecting(error)) {
          this.#fail(error);
          throw error;
        }
        this.#fail(error);
        const outcome = await this.#resolve(number);
        if (outcome !== undefined) return outcome;
      }
    }
  }

  /**
   * Finds out what became of batches whose connection was lost, however long that takes.
   *
   * @returns `undefined` if they were not written, and never will be.
   * @throws {RecordOutcomeError} if the backend is closed before.
   */
  async #resolve(number: number): Promise<readonly (number | null)[] | undefined> {
    this.#isResolving = true;
    try {
      for (let pauseMs = 20; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
        if (this.#isClosed) {
          throw new RecordOutcomeError(
            "the store was closed before PostgreSQL said whether it has written something",
          );
        }
        try {
          const [row] = await this.#run(
            "writing",
            `SELECT ${this.#schema}.resolve($1, $2::bigint) AS outcome`,
            [this.member, number],
          );
          this.#problem = undefined;
          const outcome = row?.["outcome"] as string | null;
          return outcome === null ? undefined : (JSON.parse(outcome) as (number | null)[]);
        } catch (error) {
          if (codeOf(error) === "SG002")
            throw new RecordOutcomeError("PostgreSQL has forgotten this process");
          this.#fail(error);
        }
        await sleep(pauseMs);
      }
    } finally {
      this.#isResolving = false;
    }
  }

  watch(range: Range, onChange: () => void): () => void {
    const listener = [range, onChange] as const;
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @param scope The table and the owner of what was changed; `undefined` if anything may have been. */
  #notify(scope: string | undefined): void {
    for (const [range, onChange] of [...this.#listeners]) {
      if (scope === undefined || isIn(scope, range)) onChange();
    }
  }

  /** Leaves at once, so that other processes need not wait until this one is missing. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    clearTimeout(this.#heartbeat);
    try {
      await this.#run(
        "reading",
        `UPDATE ${this.#schema}.members SET expires = '-infinity' WHERE id = $1`,
        [this.member],
        1_000,
      );
    } catch {
      // It is missing after its lease.
    }
    await this.#end();
  }

  async #end(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#heartbeat);
    await Promise.all(
      [this.#listening, this.#reading, this.#writing].map((client) => client.end({ timeout: 1 })),
    );
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new RecordError("the store is closed");
  }

  #fail(error: unknown): void {
    if (!isOfStatement(error)) this.#failWith(error);
  }

  #failWith(error: unknown): void {
    const isNew = this.#problem === undefined;
    this.#problem = `PostgreSQL cannot be ${isOfStatement(error) ? "written" : "reached"}: ${textOf(error)}`;
    if (isNew) this.#beatLater();
  }

  /**
   * Runs a statement. If its connection fails or is silent for too long, the client is replaced: one that loses a connection
   * can lose what is sent next, too.
   *
   * @param which Whether it is one of those that write, of which one runs at a time.
   */
  async #run(
    which: "reading" | "writing",
    statement: string,
    values: readonly (string | number)[],
    longestMs: number = LONGEST_MS,
  ): Promise<Rows> {
    const client = which === "reading" ? this.#reading : this.#writing;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${longestMs} ms`)), longestMs).unref();
    });
    try {
      return await Promise.race([client.unsafe(statement, [...values], { prepare: true }), late]);
    } catch (error) {
      if (!isOfStatement(error)) this.#replace(client);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #replace(client: PostgresClient): void {
    if (this.#isClosed) return;
    if (client === this.#reading) this.#reading = this.#connect(READERS);
    else if (client === this.#writing) this.#writing = this.#connect(1);
    client.end({ timeout: 0 }).catch(() => {});
  }
}

/** Whether what was changed may be in a range. */
function isIn(scope: string, range: Range): boolean {
  const parts = "key" in range ? range.key : range.below;
  const text = keyText(parts.slice(0, 2));
  return parts.length === 1 ? scope.startsWith(`${text}/`) : scope === text;
}

function readValue(text: string): unknown {
  if (text.startsWith(BYTES)) return new Uint8Array(Buffer.from(text.slice(BYTES.length), "base64"));
  try {
    return freezeJson(JSON.parse(text) as JsonValue);
  } catch (cause) {
    throw new RecordError("PostgreSQL has a value that is not JSON", { cause });
  }
}
