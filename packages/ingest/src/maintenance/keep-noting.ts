import { type Database, type MaintenanceProgress, type MaintenanceRun, noteMaintenanceProgress } from '@recount/db';
import { toFailureReason } from '../failure-reason.ts';

const NOTE_INTERVAL_MS = 1000;

interface Noting {
  run: MaintenanceRun;
  readProgress: () => MaintenanceProgress;
  /** Called once another run has replaced this one, it was cancelled, or its workspace is gone. */
  onReplaced: () => void;
  /** Called if the progress could not be stored. If that continues for long, another run may start. */
  onFailure: (reason: string) => void;
}

/** Records every second that a run continues, with its progress. The result ends that, after recording it once more. */
export function keepNoting(
  database: Database,
  { run, readProgress, onReplaced, onFailure }: Noting,
): () => Promise<void> {
  const note = async (): Promise<void> => {
    try {
      if (!(await noteMaintenanceProgress(database, run, readProgress()))) onReplaced();
    } catch (error) {
      onFailure(toFailureReason(error));
    }
  };
  let noting: Promise<void> | undefined;
  const timer = setInterval(() => {
    noting ??= note().finally(() => {
      noting = undefined;
    });
  }, NOTE_INTERVAL_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await noting;
    await note();
  };
}
