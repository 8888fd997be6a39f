import type { Actor } from '../workspaces/audit-log.ts';

/** The workspace whose people are changed, and who changes them. */
export interface PeopleScope {
  workspaceId: string;
  actor: Actor;
}
