import {
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  type MultipartUpload,
  type S3Client,
} from '@aws-sdk/client-s3';

/** The bucket's unfinished multipart uploads under the key prefix, page by page: the SDK has no paginator for them. */
export async function* listMultipartUploads(
  client: S3Client,
  Bucket: string,
  Prefix: string,
): AsyncGenerator<MultipartUpload> {
  let position: { KeyMarker?: string; UploadIdMarker?: string } = {};
  for (;;) {
    const page: ListMultipartUploadsCommandOutput = await client.send(
      new ListMultipartUploadsCommand({ Bucket, Prefix, ...position }),
    );
    yield* page.Uploads ?? [];
    const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
    // A server that repeats its marker would be asked for ever.
    if (!page.IsTruncated || !KeyMarker || !UploadIdMarker || UploadIdMarker === position.UploadIdMarker) return;
    position = { KeyMarker, UploadIdMarker };
  }
}
