// A segmented sum by hand, which ours is compared with: out[s, :] is the sum of the rows offsets[s] to
// offsets[s + 1] of a matrix. A block has a segment and 512 columns, a thread 4 columns.

extern "C" __global__ void __launch_bounds__(128)
segmented_sum(const float4 *__restrict__ values, const long long *__restrict__ offsets, float4 *__restrict__ out,
              int quads) {
  const int column = blockIdx.y * blockDim.x + threadIdx.x;
  if (column >= quads) return;
  const long long segment = blockIdx.x, end = offsets[segment + 1];
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (long long row = offsets[segment]; row < end; ++row) {
    const float4 value = values[row * quads + column];
    sum.x += value.x;
    sum.y += value.y;
    sum.z += value.z;
    sum.w += value.w;
  }
  out[segment * quads + column] = sum;
}
