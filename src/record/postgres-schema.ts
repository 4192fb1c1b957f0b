import { type Batch, boundsOf, keyText, partText, RecordError } from "./backend.ts";
import type { PostgresClient } from "./postgres-connection.ts";

/**
 * Each entry brings a schema from the format of its index to the next one, with `$S` for its name. Entries are never changed.
 *
 * `apply` writes batches, each whole or not at all, in one transaction. Batches of the same owner wait for each other, so that
 * what a check has found still holds when the batch is written. The row of the member has the number and outcome of its last
 * batches: after a lost connection, `resolve` returns the outcome, or makes sure that they are not written later.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE SEQUENCE $S.versions;
  CREATE TABLE $S.record (
    key text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    created bigint NOT NULL,
    value text NOT NULL
  );
  CREATE TABLE $S.members (
    id text PRIMARY KEY,
    number bigint NOT NULL DEFAULT 0,
    outcome text,
    expires timestamptz NOT NULL
  );

  CREATE FUNCTION $S.read(ranges jsonb) RETURNS TABLE (range integer, value text, version bigint, created bigint)
  LANGUAGE plpgsql STABLE AS $$
  DECLARE
    bounds jsonb;
    place integer := 0;
  BEGIN
    FOR bounds IN SELECT * FROM jsonb_array_elements(ranges) LOOP
      RETURN QUERY SELECT place, r.value, r.version, r.created FROM $S.record r
        WHERE r.key >= (bounds->>0) AND r.key < (bounds->>1) ORDER BY r.key;
      place := place + 1;
    END LOOP;
  END $$;

  CREATE FUNCTION $S.apply(member text, batch_number bigint, lease_ms integer, owners jsonb, batches jsonb) RETURNS text
  LANGUAGE plpgsql AS $$
  DECLARE
    last bigint;
    lock bigint;
    batch jsonb;
    item jsonb;
    place integer;
    failed integer;
    found_count bigint;
    found_version bigint;
    fresh bigint;
    outcomes jsonb := '[]';
  BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
      PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    SELECT number INTO last FROM $S.members WHERE id = member FOR UPDATE;
    IF last IS NULL OR last >= batch_number THEN
      RAISE EXCEPTION 'these batches are no longer expected' USING ERRCODE = 'SG001';
    END IF;
    FOR lock IN
      SELECT DISTINCT hashtextextended(owner, hashtext('$S')) FROM jsonb_array_elements_text(owners) owner ORDER BY 1
    LOOP
      PERFORM pg_advisory_xact_lock(lock);
    END LOOP;
    FOR batch IN SELECT * FROM jsonb_array_elements(batches) LOOP
      failed := NULL;
      place := 0;
      FOR item IN SELECT * FROM jsonb_array_elements(batch->'checks') LOOP
        SELECT count(*), coalesce(max(r.version), 0) INTO found_count, found_version FROM $S.record r
          WHERE r.key >= (item->>0) AND r.key < (item->>1);
        IF found_count <> (item->>2)::bigint OR found_version <> (item->>3)::bigint THEN
          failed := place;
          EXIT;
        END IF;
        place := place + 1;
      END LOOP;
      outcomes := outcomes || coalesce(to_jsonb(failed), 'null'::jsonb);
      CONTINUE WHEN failed IS NOT NULL;
      FOR item IN SELECT * FROM jsonb_array_elements(batch->'writes') LOOP
        IF jsonb_array_length(item) = 3 THEN
          DELETE FROM $S.record r WHERE r.key >= (item->>0) AND r.key < (item->>1);
        ELSE
          fresh := nextval('$S.versions');
          INSERT INTO $S.record (key, version, created, value) VALUES (item->>0, fresh, fresh, item->>1)
            ON CONFLICT (key) DO UPDATE SET version = excluded.version, value = excluded.value;
        END IF;
      END LOOP;
      PERFORM pg_notify('$S', scope) FROM jsonb_array_elements_text(batch->'scopes') scope;
    END LOOP;
    UPDATE $S.members SET number = batch_number, outcome = outcomes::text,
      expires = clock_timestamp() + lease_ms * interval '1 ms' WHERE id = member;
    RETURN outcomes::text;
  END $$;

  CREATE FUNCTION $S.resolve(member text, batch_number bigint) RETURNS text
  LANGUAGE plpgsql AS $$
  DECLARE
    last bigint;
    known text;
  BEGIN
    SELECT number, outcome INTO last, known FROM $S.members WHERE id = member FOR UPDATE;
    IF last IS NULL THEN RAISE EXCEPTION 'the member is unknown' USING ERRCODE = 'SG002'; END IF;
    IF last = batch_number THEN RETURN known; END IF;
    UPDATE $S.members SET number = batch_number, outcome = NULL WHERE id = member;
    RETURN NULL;
  END $$;`,

  // Executions were entries of their own, which began with the same id.
  `UPDATE $S.record c SET value = left(c.value, -1) || substr(e.value, strpos(c.value, ',"digest":"'))
    FROM $S.record e
    WHERE c.key >= 'call/' AND c.key < 'call0' AND e.key = 'execution' || substr(c.key, length('call') + 1);
  DELETE FROM $S.record WHERE key >= 'execution/' AND key < 'execution0'`,
];

/** The key of the format of a schema. No key of an entry has an exclamation mark. */
const FORMAT_KEY = "!format";

/**
 * Brings a schema to the current format, and creates it if it does not exist. Several processes can do so at once.
 *
 * @param schema A checked name, which needs no quotes.
 * @throws {RecordError} as a rejection, if the schema has a newer format, or has other tables.
 */
export async function migrate(sql: PostgresClient, schema: string): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction.unsafe("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`sandgate ${schema}`]);
    const format = await formatOf(transaction, schema);
    if (format > MIGRATIONS.length) {
      throw new RecordError(
        `the schema '${schema}' has the format ${format}, and this version of Sandgate reads up to ${MIGRATIONS.length}: use a newer one`,
      );
    }
    for (const migration of MIGRATIONS.slice(format)) {
      await transaction.unsafe(migration.replaceAll("$S", schema));
    }
    if (format === MIGRATIONS.length) return;
    await transaction.unsafe(
      `INSERT INTO ${schema}.record (key, version, created, value) VALUES ($1, 0, 0, $2)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
      [FORMAT_KEY, String(MIGRATIONS.length)],
    );
  });
}

async function formatOf(sql: Pick<PostgresClient, "unsafe">, schema: string): Promise<number> {
  const [known] = await sql.unsafe(
    "SELECT to_regnamespace($1) AS schema, to_regclass($2) AS record, (SELECT count(*)::int FROM pg_class WHERE relnamespace = to_regnamespace($1)) AS size",
    [schema, `${schema}.record`],
  );
  if (known?.["schema"] === null) {
    await sql.unsafe(`CREATE SCHEMA ${schema}`);
    return 0;
  }
  if (known?.["record"] === null) {
    if (known["size"] === 0) return 0;
    throw new RecordError(`the schema '${schema}' has other tables: choose another one`);
  }
  const [row] = await sql.unsafe(`SELECT value FROM ${schema}.record WHERE key = $1`, [FORMAT_KEY]);
  const format = Number(row?.["value"]);
  if (!Number.isSafeInteger(format)) throw new RecordError(`the schema '${schema}' is not one of Sandgate`);
  return format;
}

/** What the text of bytes begins with, which no JSON does. Base64 follows. */
export const BYTES = "b64:";

/** Returns the text as which a value is stored. */
export function valueText(value: unknown): string {
  if (value instanceof Uint8Array) return `${BYTES}${Buffer.from(value).toString("base64")}`;
  return JSON.stringify(value);
}

/** Returns a batch as `apply` reads it. */
export function writtenBatch({ checks, writes }: Batch): object {
  return {
    checks: checks.map(({ range, count, version }) => {
      const { from, to } = boundsOf(range);
      return [from, to, count, version];
    }),
    // Two members: a value; three: the end of what is removed.
    writes: writes.map((write) => {
      if ("value" in write) return [keyText(write.key), valueText(write.value)];
      const { from, to } = boundsOf("key" in write ? { key: write.key } : { below: write.below });
      return [from, to, true];
    }),
    scopes: [
      ...new Set(writes.map((write) => keyText(("key" in write ? write.key : write.below).slice(0, 2)))),
    ],
  };
}

/** Returns the owners of what a batch concerns. */
export function ownersOf({ checks, writes }: Batch): string[] {
  const ranges = [...checks.map(({ range }) => range), ...writes];
  return ranges.map((range) => partText(("key" in range ? range.key : range.below)[1]));
}
