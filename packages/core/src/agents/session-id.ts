export const MAX_SESSION_ID_LENGTH = 512;

/** True if a session may have this id: 1 to 512 characters without control characters. */
export function isSessionId(id: string | null): id is string {
  return id !== null && id !== '' && id.length <= MAX_SESSION_ID_LENGTH && !/\p{Cc}/u.test(id);
}

/** Why a new session may not have an id. */
export const SESSION_ID_RULE = `A session id has 1 to ${MAX_SESSION_ID_LENGTH} characters, no control character, and is neither . nor ..`;

/**
 * True if a new session may have this id: URLs turn `.` and `..` into steps of their path, so no client could name it.
 */
export const isNewSessionId = (id: string | null): id is string => isSessionId(id) && id !== '.' && id !== '..';
