export const MAX_SESSION_ID_LENGTH = 512;

/** Whether a session can have that name: 1 to 512 characters, none of them a control character. */
export function isSessionId(id: string | null): id is string {
  return id !== null && id !== '' && id.length <= MAX_SESSION_ID_LENGTH && !/\p{Cc}/u.test(id);
}
