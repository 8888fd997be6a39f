import { userInfo } from 'node:os';
import type { Actor } from '@recount/db';

/** Whoever has the database itself, by the name that this machine knows; nobody proves it. */
export function toOperator(): Actor {
  try {
    return `operator:${userInfo().username}`;
  } catch {
    // Containers run as users that have no name.
    return `operator:${process.getuid?.() ?? 'unknown'}`;
  }
}
