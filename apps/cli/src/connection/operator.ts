import { userInfo } from 'node:os';
import type { Actor } from '@recount/db';

/** Someone with direct access to the database, by the user name on this machine; unverified. */
export function toOperator(): Actor {
  try {
    return `operator:${userInfo().username}`;
  } catch {
    // Users of containers may have no name.
    return `operator:${process.getuid?.() ?? 'unknown'}`;
  }
}
