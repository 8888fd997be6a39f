import type { ShownBlock } from '@recount/contract/conversation';
import { skipToken, useQuery } from '@tanstack/react-query';
import { request, toUrl } from '../server-data/client.ts';

/** The place of a line in the raw bytes. */
export interface LinePlace {
  transcriptId: string;
  byte_offset: number;
  byte_length: number;
  line_number: number;
}

/** Undefined for a block of a running agent. */
export function toLinePlace(block: ShownBlock, transcriptId: string): LinePlace | undefined {
  const { byte_offset, byte_length, line_number } = block;
  if (byte_offset === undefined || byte_length === undefined || line_number === undefined) return undefined;
  return { transcriptId, byte_offset, byte_length, line_number };
}

/** The URL of its bytes. */
export const toLineUrl = ({ transcriptId, byte_offset }: Pick<LinePlace, 'transcriptId' | 'byte_offset'>): string =>
  toUrl('/v1/transcripts/{transcript_id}/lines/{byte_offset}', {
    transcript_id: transcriptId,
    byte_offset: String(byte_offset),
  });

export function useRawLine(place: Pick<LinePlace, 'transcriptId' | 'byte_offset'> | undefined, isWanted = true) {
  return useQuery({
    queryKey: ['line', place?.transcriptId, place?.byte_offset],
    queryFn:
      place === undefined
        ? skipToken
        : async ({ signal }) => await (await request(toLineUrl(place), { signal })).text(),
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
}
