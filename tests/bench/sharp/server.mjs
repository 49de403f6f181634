// SPDX-License-Identifier: Apache-2.0
// node server.mjs PORT - JPEG in, JPEG out at quality 85, as a form upload: what a fastify + sharp service costs before it
// does anything to the picture.
import Fastify from 'fastify';
import multipart from '@fastify/multipart';
import sharp from 'sharp';

const app = Fastify({ bodyLimit: 64 << 20 });
await app.register(multipart, { limits: { fileSize: 64 << 20 } });
app.post('/decode', async (request, reply) => {
  const upload = await request.file();
  const result = await sharp(await upload.toBuffer()).jpeg({ quality: 85 }).toBuffer();
  return reply.type('image/jpeg').send(result);
});
await app.listen({ port: Number(process.argv[2] ?? 8195), host: '127.0.0.1' });
