import type { TestApi } from '@recount/api/testing/test-api';
import { runCommandLine } from '../run-command-line.ts';
import { PROJECT_DIRECTORY } from '../terminal/cli-context.ts';
import { createFakeContext } from './fake-context.ts';

interface TypedOptions {
  /** The terminal's width; without it, the output is not a terminal. */
  columns?: number;
  /** True to name the API, or only the database. */
  hasServer?: boolean;
  /** Defaults to the admin's. */
  key?: string;
}

export interface TypedCommands {
  /** Runs a command as its user would type it in the checkout. */
  type(commandLine: readonly string[], options?: TypedOptions): Promise<{ exitCode: number; out: string; err: string }>;
  /** A command's output; rejects if it fails. */
  read(...commandLine: string[]): Promise<string>;
}

/** Commands of a user of the API whose database can also be reached; in a home, if given. */
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
