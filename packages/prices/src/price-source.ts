import { isPriceUrl, loadPriceFile, toShownLocation } from './load-price-file.ts';
import type { PriceFile } from './price-file.ts';

/** A place of newer prices. */
export interface PriceSource {
  /** The setting, a path or a URL, without what may be secret in it. */
  location: string;
  /** The file; undefined if it cannot be read, and the built-in list then applies. */
  file: PriceFile | undefined;
  /** The reason why it could not be read the last time. An earlier file then stays in use. */
  error: string | undefined;
  /** Stops reading it again. */
  close(): void;
}

const HOUR_MS = 3_600_000;
const REFRESH_MS = 24 * HOUR_MS;

/**
 * Opens a price file for a program. A path must be readable, or it throws PriceFileError. A URL that cannot be read
 * keeps no program from starting. It is tried again every hour, and read again every day, until `close` is called.
 * `onChange` gets each later change and failure.
 */
export async function openPriceSource(
  location: string,
  {
    directory,
    onChange = () => undefined,
    load = loadPriceFile,
  }: {
    directory?: string;
    onChange?: (source: PriceSource) => void;
    load?: (location: string, options: { directory?: string }) => Promise<PriceFile>;
  } = {},
): Promise<PriceSource> {
  let timer: NodeJS.Timeout | undefined;
  const read = () => load(location, directory === undefined ? {} : { directory });
  const source: PriceSource = {
    ...{ location: toShownLocation(location), file: undefined, error: undefined },
    close: () => clearTimeout(timer),
  };
  if (!isPriceUrl(location)) {
    source.file = await read();
    return source;
  }
  /** Returns whether there is something to tell. */
  const refresh = async (): Promise<boolean> => {
    const before = source.file?.version;
    try {
      source.file = await read();
      source.error = undefined;
    } catch (error) {
      source.error = (error as Error).message;
    }
    timer = setTimeout(refreshAndTell, source.error === undefined ? REFRESH_MS : HOUR_MS).unref();
    return source.error !== undefined || source.file?.version !== before;
  };
  const refreshAndTell = async (): Promise<void> => {
    if (await refresh()) onChange(source);
  };
  await refresh();
  return source;
}
