import type { Found } from './found.ts';

/** A recount that was started for the lab. */
export interface Store {
  /** Sends the sessions of a program's home, and returns what was stored of them. */
  upload(environment: Record<string, string>): Promise<Found>;
  close(): Promise<void>;
}
