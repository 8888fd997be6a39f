/** A price file cannot be read or is refused; the message says which one and why. */
export class PriceFileError extends Error {
  override name = 'PriceFileError';
}

/** An answer to a GET request. */
interface PriceAnswer {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: AsyncIterable<Uint8Array>;
}

export type GetPrices = (url: URL, options: { signal: AbortSignal; isRedirected: boolean }) => Promise<PriceAnswer>;
