import { Quotas } from "../deciding/quotas.ts";
import { Session } from "../session.ts";
import type { Shared } from "../shared.ts";
import type { SessionRecord } from "../store/records.ts";
import { isTrusted, realPath } from "../trusted-workspaces.ts";

/** Makes a session of a person from its record, with what the disk and the store have of it. */
export async function createSession(shared: Shared, record: SessionRecord): Promise<Session> {
  const { settings } = shared;
  const store = record.durable === false ? undefined : shared.store;
  const { trustedWorkspaces, trustedClasses } = settings;
  const { workspace } = record;
  const realWorkspace = workspace === undefined ? undefined : await realPath(workspace);
  const trusted = (await isTrusted(realWorkspace, trustedWorkspaces)) ? trustedClasses : undefined;
  const quotas = Quotas.isUnlimited(settings)
    ? undefined
    : new Quotas(settings, store, store && (await store.counts(record.id)), shared.durable?.count);
  const turnIds = store === undefined ? [] : await store.turnIds(record.id);
  return new Session(shared, record, { quotas, trusted, realWorkspace, turnIds });
}
