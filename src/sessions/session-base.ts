import { resolve } from "node:path";
import { shadowedBy } from "../changes/own-folder.ts";
import type { Refusal } from "../engine/refusal.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import { compileNamePattern } from "../policy/match/name-pattern.ts";
import type { RuntimePolicy } from "../policy/policy.ts";
import type { Principal } from "../policy/principal.ts";
import type { Redaction } from "../redaction/redaction.ts";
import type { StageChanges } from "../sandboxes/contract/staged-changes.ts";
import type { SessionInfo, ToolTraits } from "../tool/tool-traits.ts";
import type { ApprovalPlace, Approvals } from "./approvals.ts";
import type { AgentOrigin } from "./calls/core.ts";
import { Lanes, toolPlaces } from "./calls/lanes.ts";
import type { ConfirmationBroker } from "./confirmations/confirmation-broker.ts";
import type { DurableRuntime } from "./durable-runtime.ts";
import { LedgerScope } from "./ledger/ledgers.ts";
import { type ClassLevels, stagesChanges } from "./levels.ts";
import { CurrentMode } from "./modes/current-mode.ts";
import type { ModeState } from "./modes/mode.ts";
import type { Settings } from "./options.ts";
import type { Quotas } from "./quotas.ts";
import { SessionChanges } from "./session-changes.ts";
import type { ShadowPlace } from "./shadow-grants.ts";
import type { Shared } from "./shared.ts";
import type { GuardedStore } from "./store/guarded-store.ts";
import type { SessionRecord } from "./store/store.ts";

/** The tag of tools that store what an agent learns. A worker has no such tools. */
const MEMORY_TAG = "memory";

/** The state that is determined when a session is opened. */
export interface SessionState {
  readonly quotas: Quotas | undefined;
  /** The workspace with its links resolved; `undefined` if none. */
  readonly realWorkspace: string | undefined;
  /** The levels of classes in a trusted workspace; `undefined` in any other workspace. */
  readonly trusted: Partial<ClassLevels> | undefined;
  /** The turns of earlier processes, in the order in which they began. */
  readonly turnIds: readonly string[];
  /** Those of the parent session, where an agent's changes are staged. Default: its own. */
  readonly changes?: SessionChanges;
  /** The tools of which the session can see some. Default: all. */
  readonly registry?: ToolRegistry;
  /** Where its calls are entered. Default: a ledger of its own. */
  readonly ledger?: LedgerScope;
}

/** What a session is, and what its calls need of it. */
export abstract class SessionBase {
  readonly id: string;
  /** The display name that was given when it was opened; `undefined` without one. */
  readonly name: string | undefined;
  /** The caller; `undefined` if it is not known. */
  readonly principal: Principal | undefined;
  /** The absolute path of the workspace; `undefined` if none. */
  readonly workspace: string | undefined;
  readonly kind: "main" | "worker";
  /** When it was opened, in milliseconds since the epoch. */
  readonly openedAt: number;
  /** @internal */
  readonly tools: readonly string[] | undefined;
  /** The tools that the session can see. A protocol that is created with it offers only these. */
  readonly registry: ToolRegistry;
  /** @internal */
  readonly lanes: Lanes;
  /** @internal */
  readonly ledger: LedgerScope;
  /** The staged changes: see the modes `review` and `audit`. */
  readonly changes: SessionChanges;
  /** Stores its calls; `undefined` if they are not stored. @internal */
  readonly store: GuardedStore | undefined;
  /** @internal */
  protected readonly shared: Shared;
  /** @internal */
  readonly state: SessionState;
  /** @internal */
  readonly origin: AgentOrigin | undefined = undefined;
  /** @internal */
  protected readonly currentMode: CurrentMode;

  /** @internal */
  constructor(
    shared: Shared,
    { id, name, principal, workspace, kind, openedAt, tools, mode, durable }: SessionRecord,
    state: SessionState,
  ) {
    this.id = id;
    this.name = name;
    this.principal = principal;
    // What an earlier version stored can have other slashes.
    this.workspace = workspace === undefined ? undefined : resolve(workspace);
    this.kind = kind;
    this.openedAt = openedAt;
    this.tools = tools;
    this.store = durable !== false ? shared.store : undefined;
    this.shared = shared;
    this.state = state;
    this.currentMode = new CurrentMode(mode, shared.settings.modes, (text) => shared.table.setMode(id, text));
    const info = Object.freeze({ id, kind, ...(principal !== undefined && { principal }) });
    this.registry = visibleTools(
      (state.registry ?? shared.settings.context.registry) as ToolRegistry<never>,
      info,
      tools,
    ) as ToolRegistry;
    this.ledger = state.ledger ?? new LedgerScope(shared.ledgers);
    this.lanes = new Lanes(shared.settings.concurrency, shared.onIdle);
    this.changes =
      state.changes ??
      new SessionChanges({
        sessionId: id,
        workspace: state.realWorkspace,
        notify: (event) => shared.changeListeners.notify(event),
        shared: shared.stagedQuota,
        redaction: shared.redaction,
      });
  }

  /** @internal */
  get settings(): Settings {
    return this.shared.settings;
  }

  /** @internal */
  get policy(): RuntimePolicy {
    return this.settings.context.policy;
  }

  /** @internal */
  admitMessage(): Refusal | undefined {
    return undefined;
  }

  /** @internal */
  get modeState(): ModeState {
    return this.currentMode.state;
  }

  /** @internal */
  get stageChanges(): StageChanges | undefined {
    return this.changes.stage;
  }

  /** @internal */
  get realWorkspace(): string | undefined {
    return this.state.realWorkspace;
  }

  /** @internal */
  get shadowPlace(): ShadowPlace | undefined {
    const shadow = this.state.realWorkspace;
    const workspace = shadow === undefined ? undefined : shadowedBy(shadow);
    return workspace === undefined ? undefined : { workspace, shadow: shadow as string };
  }

  /** @internal */
  openChanges(): Promise<void> {
    return stagesChanges(this.modeState.base) ? this.changes.open() : this.changes.restore();
  }

  /** @internal */
  get redaction(): Redaction {
    return this.shared.redaction;
  }

  /** @internal */
  get trusted(): Partial<ClassLevels> | undefined {
    return this.state.trusted;
  }

  /** @internal */
  get quotas(): Quotas | undefined {
    return this.state.quotas;
  }

  /** @internal */
  get confirmations(): ConfirmationBroker {
    return this.shared.confirmations;
  }

  /** @internal */
  get durable(): DurableRuntime | undefined {
    return this.shared.durable;
  }

  /** @internal */
  get isSuspended(): boolean {
    return this.shared.isSuspended;
  }

  /** @internal */
  placesOf(tool: string): number {
    return toolPlaces(this.registry, this.settings, tool);
  }

  /** @internal */
  get approvalTable(): Approvals {
    return this.shared.approvals;
  }

  /** @internal */
  get place(): ApprovalPlace {
    const { realWorkspace: workspace } = this.state;
    return {
      sessionId: this.id,
      ...(this.principal !== undefined && { principal: this.principal.id }),
      ...(workspace !== undefined && { workspace }),
    };
  }
}

/**
 * Returns a view of a registry with only the tools that a session can see. For its calls, other tools do not exist.
 *
 * @param tools Patterns of names, one of which must match. Default: any name.
 */
function visibleTools(
  registry: ToolRegistry<never>,
  session: SessionInfo,
  tools: readonly string[] | undefined,
): ToolRegistry<never> {
  const patterns = tools?.map(compileNamePattern);
  return registry.view((tool) => {
    if (patterns !== undefined && !patterns.some((pattern) => pattern.matches(tool.name))) return false;
    if (session.kind === "worker" && tool.tags?.includes(MEMORY_TAG)) return false;
    return tool.visibleTo === undefined || isShown(tool.visibleTo, session);
  });
}

/** A tool that cannot say so is not visible. */
function isShown(visibleTo: NonNullable<ToolTraits["visibleTo"]>, session: SessionInfo): boolean {
  try {
    return visibleTo(session) === true;
  } catch {
    return false;
  }
}
