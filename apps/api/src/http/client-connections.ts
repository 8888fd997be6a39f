/** The program itself, its libraries' files, log, and what a request opens besides its upload. */
const OTHER_FILES = 48;
const MIN_CONNECTIONS = 1;

/**
 * How many clients may be connected at once: as configured, but so few that the process has file descriptors left for
 * the database's connections and a raw object of every upload. `maxFiles`: default the process's own limit.
 */
export function toMaxClientConnections(
  config: { maxClientConnections: number; maxConnections: number; maxConcurrentUploads: number },
  maxFiles = readMaxFiles(),
): number {
  const reserved = OTHER_FILES + 2 * config.maxConnections + config.maxConcurrentUploads;
  return Math.max(MIN_CONNECTIONS, Math.min(config.maxClientConnections, maxFiles - reserved));
}

/** Infinity where there is no limit, or the system does not tell. */
function readMaxFiles(): number {
  // Left out of the report: looking up the names of peers takes seconds.
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  report.excludeNetwork = true;
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: number | 'unlimited' } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY;
}
