/** Why a change of people or teams is refused. */
export type PeopleErrorCode = 'name-taken' | 'unknown-name' | 'team-in-use' | 'merged' | 'invalid';

/**
 * A change of people or teams is refused, and nothing is changed. The message is for the person who asked for it, and may
 * contain names; it must not be logged.
 */
export class PeopleError extends Error {
  override name = 'PeopleError';
  readonly code: PeopleErrorCode;
  /** The field that is at fault. */
  readonly field: string;

  constructor(code: PeopleErrorCode, field: string, message: string) {
    super(message);
    this.code = code;
    this.field = field;
  }
}
