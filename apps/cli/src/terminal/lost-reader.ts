import type { CliContext } from './cli-context.ts';

/** Errors of a log or of additional output do not end the command, because it has no reader, or its disk is full. */
const LOST_OUTPUT = new Set(['EPIPE', 'ENOSPC', 'EDQUOT']);

/** `recount parse FILE | head` closes the pipe when it has seen enough. */
export function endQuietlyWithoutReader(context: Pick<CliContext, 'stdout' | 'stderr' | 'outlivesReader'>): void {
  for (const stream of [context.stdout, context.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // The terminal was closed. No one can be told, but the command must end properly.
      if (error.code === 'EIO') return;
      if (context.outlivesReader && LOST_OUTPUT.has(error.code ?? '')) return;
      if (error.code !== 'EPIPE') throw error;
      process.exit(0);
    });
  }
}
