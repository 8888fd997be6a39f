import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { request, toUrl } from '../api/client.ts';
import { Answered } from '../ui/states.tsx';

/** The place of a line in the raw bytes. */
export interface LinePlace {
  transcriptId: string;
  byte_offset: number;
  byte_length: number;
  line_number: number;
}

/** The URL of its bytes. */
export const toLineUrl = ({ transcriptId, byte_offset }: Pick<LinePlace, 'transcriptId' | 'byte_offset'>): string =>
  toUrl('/v1/transcripts/{transcript_id}/lines/{byte_offset}', {
    transcript_id: transcriptId,
    byte_offset: String(byte_offset),
  });

export function useRawLine(place: Pick<LinePlace, 'transcriptId' | 'byte_offset'>, isWanted = true) {
  return useQuery({
    queryKey: ['line', place.transcriptId, place.byte_offset],
    queryFn: async ({ signal }) => await (await request(toLineUrl(place), { signal })).text(),
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
}

interface ImageData {
  mediaType: string;
  base64: string;
}

const MEDIA_TYPE = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
const MAX_JSON_DEPTH = 30;

/**
 * Images in a line, in order, whatever its agent calls their fields: base64 beside a media type, or a `data:` URL.
 * Bitmaps only, because an SVG image is a document.
 */
function findImages(value: unknown, depth = 0): ImageData[] {
  if (depth > MAX_JSON_DEPTH) return [];
  if (typeof value === 'string') {
    const [, mediaType = '', base64 = ''] = /^data:(image\/\w+);base64,([A-Za-z0-9+/=]+)$/.exec(value) ?? [];
    return MEDIA_TYPE.test(mediaType) ? [{ mediaType, base64 }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  const fields = value as Record<string, unknown>;
  const mediaType = fields.media_type ?? fields.mediaType ?? fields.mimeType ?? fields.mime_type;
  if (typeof mediaType === 'string' && MEDIA_TYPE.test(mediaType)) {
    const base64 = fields.data ?? fields.base64;
    if (typeof base64 === 'string' && /^[A-Za-z0-9+/=\s]+$/.test(base64)) return [{ mediaType, base64 }];
  }
  return Object.values(fields).flatMap((each) => findImages(each, depth + 1));
}

/** An image in a transcript, read from its raw line on request. */
export function TranscriptImage({
  place,
  index,
  isWanted,
}: {
  place: LinePlace;
  index: number;
  isWanted: boolean;
}): ReactNode {
  const line = useRawLine(place, isWanted);
  const [url, setUrl] = useState<string>();
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    if (line.data === undefined) return;
    const image = toImages(line.data)[index];
    setMissing(image === undefined);
    if (image === undefined) return;
    const bytes = Uint8Array.from(atob(image.base64), (character) => character.charCodeAt(0));
    const next = URL.createObjectURL(new Blob([bytes], { type: image.mediaType }));
    setUrl(next);
    return () => URL.revokeObjectURL(next);
  }, [line.data, index]);
  if (!isWanted) return null;
  if (url !== undefined) return <img className="transcript-image" src={url} alt={`From line ${place.line_number}`} />;
  if (isMissing) return <p className="muted">The line has no image that can be shown.</p>;
  return <Answered of={line}>{() => null}</Answered>;
}

function toImages(line: string): ImageData[] {
  try {
    return findImages(JSON.parse(line));
  } catch {
    return [];
  }
}
