import type { TestApi } from '@recount/api/testing/test-api';
import { PROJECT_DIRECTORY } from '../cli-context.ts';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from './fake-context.ts';

interface TypedOptions {
  /** The terminal's width; without it, the output is no terminal. */
  columns?: number;
  /** Whether the API is named, or the database alone. */
  hasServer?: boolean;
  /** Default: the admin's. */
  key?: string;
}

export interface TypedCommands {
  /** Types a command as its user would, in the checkout. */
  type(commandLine: readonly string[], options?: TypedOptions): Promise<{ exitCode: number; out: string; err: string }>;
  /** What a command prints; rejects where it does not end well. */
  read(...commandLine: string[]): Promise<string>;
}

/** Commands of somebody who uses the API, and whose database can be reached; in a home where that is given. */
export function createTypedCommands(api: TestApi, home: Readonly<Record<string, string>> = {}): TypedCommands {
  const type: TypedCommands['type'] = async (commandLine, { columns, hasServer = true, key = api.keys.admin } = {}) => {
    const environment = {
      ...home,
      ...(hasServer && { RECOUNT_SERVER: api.url, RECOUNT_API_KEY: key }),
      RECOUNT_DATA_DIR: `${api.storeDirectory}/none`,
      DATABASE_URL: api.connectionString,
      RECOUNT_RAW_STORE: api.storeDirectory,
      PAGER: 'cat',
      NO_COLOR: '1',
    };
    const context = createFakeContext({
      environment,
      workingDirectory: PROJECT_DIRECTORY,
      ...(columns !== undefined && { columns }),
    });
    const exitCode = await runCommandLine(context, commandLine);
    return { exitCode, out: context.out(), err: context.err() };
  };
  return {
    type,
    async read(...commandLine) {
      const { exitCode, out, err } = await type(commandLine);
      if (exitCode !== 0) throw new Error(`recount ${commandLine.join(' ')} ends with ${exitCode}: ${err}`);
      return out;
    },
  };
}
