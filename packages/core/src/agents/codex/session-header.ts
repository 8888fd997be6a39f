import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readObject } from '../../records/fields.ts';
import type { SessionRecord } from '../../records/records.ts';
import { toRepositoryUrl } from '../../records/repository.ts';

/** The facts of a thread's own `session_meta` about its session. */
export function toSessionHeader(
  meta: JsonObject,
  identifier: (value: JsonValue | undefined) => string | null,
): SessionRecord {
  const git = readObject(meta.git);
  const found: [keyof NonNullable<SessionRecord['first']>, string | null][] = [
    ['sessionId', identifier(meta.id)],
    ['cwd', identifier(meta.cwd)],
    ['version', identifier(meta.cli_version)],
    ['gitBranch', identifier(git?.branch)],
    ['repository', toRepositoryUrl(identifier(git?.repository_url))],
    ['commitHash', identifier(git?.commit_hash)],
    ['entrypoint', identifier(meta.originator)],
    ['forkedFromSessionId', identifier(meta.forked_from_id)],
  ];
  const first = Object.fromEntries(found.filter(([, value]) => value !== null));
  const agentName = identifier(meta.agent_nickname) ?? identifier(meta.agent_role);
  return { kind: 'session', first, ...(agentName !== null && { last: { agentName } }) };
}
