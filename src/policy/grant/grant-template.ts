import { join } from "node:path";
import { lookUp, parsePointer } from "../../json/pointer.ts";
import type { JsonValue } from "../../json/value.ts";
import { isAmbiguous } from "../match/ambiguous-text.ts";
import type { Capabilities } from "./capabilities.ts";
import type { DirectoryGrant } from "./directory-grant.ts";
import { anyFileOf, type FileTemplate, fileFor, isFileTemplate } from "./file-template.ts";
import type { FsGrant } from "./fs-grant.ts";
import type { WritesProtected } from "./fs-members.ts";
import { isWithinOrigin, type NetGrant, parseOrigin } from "./net-grant.ts";
import { TemplateRefusal } from "./template-refusal.ts";

/** The capabilities that a rule grants. Parts of them can depend on the call. */
export interface RuleCapabilities extends Omit<Capabilities, "fs" | "net"> {
  readonly fs?: readonly (FsGrant | WorkspaceTemplate | FileTemplate)[];
  readonly net?: readonly (NetGrant | OriginTemplate)[];
}

/** Grants the session's workspace, or a directory in it. The call is denied if the session has no workspace. */
export interface WorkspaceTemplate {
  /** `true`, or the path of a directory in the workspace: relative, without `.` and `..` segments. */
  readonly workspace: true | string;
  /** As in `DirectoryGrant`. Default: `/`. */
  readonly at?: string;
  /** As in `DirectoryGrant`. Default: false. */
  readonly write?: boolean;
  /** As in `DirectoryGrant`. Default: none. */
  readonly writesProtected?: WritesProtected;
}

/** A relative path in `/` segments, none of which is `.` or `..`. */
export const WORKSPACE_PATTERN = "^(?!\\.{1,2}(/|$))[^/\\\\\\0]+(/(?!\\.{1,2}(/|$))[^/\\\\\\0]+)*$";

/**
 * Grants the origin of the URL in an argument. The call is denied if the argument is missing, is ambiguous (see
 * `isAmbiguous`) or is not a URL whose origin is within the origins of the rule.
 */
export interface OriginTemplate {
  /** A JSON pointer to the argument. */
  readonly argument: string;
  /** Origins as in `NetGrant`. */
  readonly within: readonly string[];
}

/** The parts of a request that templates depend on. */
export interface TemplateSource {
  readonly input: JsonValue;
  readonly workspace?: string | undefined;
}

/** Whether capabilities depend on the call. */
export function hasTemplates({ fs = [], net = [] }: RuleCapabilities = {}): boolean {
  return (
    fs.some((grant) => "workspace" in grant || isFileTemplate(grant)) ||
    net.some((grant) => isOriginTemplate(grant))
  );
}

/** Whether an item of `net` is a template. */
export function isOriginTemplate(grant: NetGrant | OriginTemplate): grant is OriginTemplate {
  return typeof grant === "object" && "argument" in grant;
}

/**
 * Returns the capabilities for a call.
 *
 * @throws {TemplateRefusal} if the call does not have what they depend on.
 */
export function fillIn({ fs, net, ...others }: RuleCapabilities, call: TemplateSource): Capabilities {
  return {
    ...others,
    ...(fs && { fs: fs.map((grant) => fsGrantFor(grant, call)) }),
    ...(net && { net: net.map((grant) => (isOriginTemplate(grant) ? originFor(grant, call) : grant)) }),
  };
}

/** Returns the most that capabilities can grant to any call, for checks before there is one. */
export function mostOf({ fs, net, ...others }: RuleCapabilities): Capabilities {
  const workspace = "/workspace";
  return {
    ...others,
    ...(fs && {
      fs: fs.map((grant, index) =>
        isFileTemplate(grant) ? anyFileOf(grant, index) : fsGrantFor(grant, { input: null, workspace }),
      ),
    }),
    ...(net && {
      net: net.flatMap((grant): readonly NetGrant[] => (isOriginTemplate(grant) ? grant.within : [grant])),
    }),
  };
}

function fsGrantFor(grant: FsGrant | WorkspaceTemplate | FileTemplate, call: TemplateSource): FsGrant {
  if ("workspace" in grant) return directoryFor(grant, call);
  return isFileTemplate(grant) ? fileFor(grant, call.input) : grant;
}

function directoryFor(
  { workspace: within, ...rest }: WorkspaceTemplate,
  call: TemplateSource,
): DirectoryGrant {
  const { workspace } = call;
  if (workspace === undefined) throw new TemplateRefusal("the session has no workspace");
  return { ...rest, directory: within === true ? workspace : join(workspace, within) };
}

function originFor({ argument, within }: OriginTemplate, { input }: TemplateSource): string {
  const url = lookUp(input, parsePointer(argument));
  if (typeof url === "symbol") throw new TemplateRefusal(`the argument ${argument} is missing`);
  const origin = originOfUrl(url);
  if (origin === undefined) {
    throw new TemplateRefusal(`the argument ${argument} is not a URL whose origin is certain`);
  }
  const own = parseOrigin(origin);
  if (!within.some((outer) => isWithinOrigin(own, parseOrigin(outer)))) {
    throw new TemplateRefusal(`the origin of the argument ${argument} is not within those of the rule`);
  }
  return origin;
}

/** Scheme and authority, which every parser must read in the same way. */
const AUTHORITY =
  /^https?:\/\/(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::[1-9][0-9]{0,4})?(?=[/?]|$)/i;

function originOfUrl(url: JsonValue): string | undefined {
  if (typeof url !== "string" || /[\s\p{C}]/u.test(url) || isAmbiguous(url)) return undefined;
  const authority = AUTHORITY.exec(url)?.[0];
  if (authority === undefined || !URL.canParse(authority)) return undefined;
  const { origin } = new URL(authority);
  return URL.canParse(url) && new URL(url).origin === origin ? origin : undefined;
}
