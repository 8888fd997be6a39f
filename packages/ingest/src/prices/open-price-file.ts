import type { PriceSource } from '@recount/prices';

interface PriceLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}

/**
 * Opens the price file of a program's settings, a path or an HTTPS URL, and logs what becomes of it; undefined if none is
 * set. Throws PriceFileError for a path that cannot be read.
 */
export async function openPriceFile(setting: string | undefined, log: PriceLog): Promise<PriceSource | undefined> {
  if (setting === undefined) return undefined;
  const { openPriceSource } = await import('@recount/prices');
  const report = ({ location, file, error }: PriceSource): void => {
    if (error !== undefined) log.warn({ location, reason: error }, 'price file not read');
    else log.info({ location, version: file?.version, invalidEntries: file?.issueCount }, 'price file read');
  };
  const source = await openPriceSource(setting, { onChange: report });
  report(source);
  return source;
}
