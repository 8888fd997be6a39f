import type { Connection, PoolClient, Submittable } from 'pg';
import { isOnCitus } from '../database/planner.ts';

/** One `COPY … FROM STDIN`, and the bytes that it reads. */
export interface Copy {
  statement: string;
  chunks: readonly Buffer[];
}

const COPY_DATA = 'd'.charCodeAt(0);
const HEADER_BYTES = 5;

/**
 * Runs COPYs one after another on a connection. Sent together as one query, they cost two round trips less each. Once
 * one fails, Postgres drops what follows and the connection can be used again. A connection that is
 * closed while it runs makes it fail.
 */
export async function runCopies(client: PoolClient, copies: readonly Copy[]): Promise<void> {
  // Citus sends on the text of some queries with several statements, so there each is sent separately.
  const queries = isOnCitus(client) ? copies.map((copy) => [copy]) : [copies];
  for (const query of queries) {
    if (query.length === 0) continue;
    await new Promise<void>((resolve, reject) => {
      client.query(new CopyQuery(query, resolve, reject));
    });
  }
}

/** The driver calls these methods for the server's messages. */
class CopyQuery implements Submittable {
  readonly #copies: readonly Copy[];
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;
  #next = 0;

  constructor(copies: readonly Copy[], resolve: () => void, reject: (error: Error) => void) {
    this.#copies = copies;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  submit(connection: Connection): void {
    connection.query(this.#copies.map(({ statement }) => statement).join('; '));
  }

  handleCopyInResponse({ stream }: Connection): void {
    // In one write to the socket, without copying the chunks.
    stream.cork();
    for (const chunk of this.#copies[this.#next++]?.chunks ?? []) {
      const header = Buffer.allocUnsafe(HEADER_BYTES);
      header.writeUInt8(COPY_DATA);
      header.writeUInt32BE(chunk.length + HEADER_BYTES - 1, 1);
      stream.write(header);
      stream.write(chunk);
    }
    stream.write(COPY_DONE);
    stream.uncork();
  }

  handleError(error: Error): void {
    this.#reject(error);
  }

  handleReadyForQuery(): void {
    this.#resolve();
  }

  handleCommandComplete(): void {}
}

const COPY_DONE = Buffer.from([...Buffer.from('c'), 0, 0, 0, HEADER_BYTES - 1]);
